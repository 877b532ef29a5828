/**
 * Remote agents: sends an envelope to `{url}/v1/envelopes`, and follows its task there until it
 * ends.
 *
 * Work is done once, however often it is requested: every attempt has the idempotency key of the
 * task here. When the work is no longer needed, the remote task is cancelled; not when this worker
 * stops, because another worker continues to follow it.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { TaskServices } from '../services.ts';
import type { RemoteAgent } from '../types.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import {
  type ErrorCode,
  type ErrorData,
  isErrorCode,
  TroupeError,
} from '../../../protocols/errors.ts';
import { isFinal, TASK_STATES, type TaskState, type TaskView } from '../../../protocols/task.ts';
import { type Clock, systemClock } from '../../../runtime/index.ts';
import type { AgentAnswer, AgentRequest } from './agent-request.ts';

/** Pause between two requests for the state of a remote task: doubled from `first` up to `most`. */
const LOOK_MS = { first: 100, most: 5_000 };
/** Attempts when another caller has used the sequence number in the meantime. */
const NUMBERS_MAX = 5;
/** A cancellation without a waiting caller. */
const CANCEL_MS = 5_000;

/** How this cell identifies itself to an agent that requires it. */
export type CallerIdentity = Partial<Pick<Envelope, 'tenant_id' | 'principal'>>;

export type AskAgentOptions = {
  readonly request: AgentRequest;
  /** `Bearer {JWT}` for this agent and envelope, and the name in it; absent without a token */
  readonly token?: (
    agent: RemoteAgent,
    envelope: Envelope,
  ) => Promise<{ readonly authorization?: string; readonly name?: CallerIdentity }>;
  /** detached JWS over the envelope, for agents that ask for one (A2A-External) */
  readonly sign?: (envelope: Envelope) => Promise<string>;
  readonly clock?: Clock;
};

type Answer = Awaited<ReturnType<TaskServices['askAgent']>>;

export const createAskAgent =
  (options: AskAgentOptions): TaskServices['askAgent'] =>
  async (agent, envelope, signal) => {
    const task = await RemoteTask.open(agent, envelope, options);
    try {
      const view = await task.submit(envelope, signal);
      const end = await task.untilEnd(view, signal);
      return isCancel(envelope) ? undoneOf(end, agent) : resultOf(end, agent);
    } catch (error) {
      if (isUndone(envelope, error)) return { result: null };
      if (signal.aborted && isUnwanted(signal) && !isCancel(envelope)) await task.giveUp(envelope);
      throw error;
    }
  };

/** The requests to one agent, for one task. */
class RemoteTask {
  readonly #o: AskAgentOptions;
  readonly #clock: Clock;
  readonly #agent: RemoteAgent;
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #name: CallerIdentity;

  private constructor(
    options: AskAgentOptions,
    agent: RemoteAgent,
    url: string,
    token: { readonly authorization?: string; readonly name?: CallerIdentity },
  ) {
    this.#o = options;
    this.#clock = options.clock ?? systemClock;
    this.#agent = agent;
    this.#base = url.replace(/\/+$/, '');
    this.#headers = token.authorization ? { authorization: token.authorization } : {};
    this.#name = token.name ?? {};
  }

  static async open(
    agent: RemoteAgent,
    envelope: Envelope,
    options: AskAgentOptions,
  ): Promise<RemoteTask> {
    const { agent_id, url } = agent;
    if (!URL.canParse(url))
      throw new TroupeError('UNAVAILABLE', `the agent ${agent_id} has no URL of its own`);
    return new RemoteTask(options, agent, url, (await options.token?.(agent, envelope)) ?? {});
  }

  /**
   * Sequence numbers follow the clock, so that they increase across all workers. After a conflict
   * the later request uses the next number.
   */
  async submit(envelope: Envelope, signal: AbortSignal): Promise<TaskView> {
    let seq = this.#clock.wallMs() * 1_000;
    for (let number = 1; ; number++) {
      const answer = await this.#post(this.#ours(envelope, seq), signal);
      const error = answer.status < 300 ? undefined : errorOf(answer, this.#agent);
      if (!error) return this.#taken(answer);
      const last = error.details?.['last_seq'];
      if (error.code !== 'CONFLICT' || typeof last !== 'number' || number >= NUMBERS_MAX)
        throw error;
      seq = Math.max(seq, last) + 1;
    }
  }

  async untilEnd(first: TaskView, signal: AbortSignal): Promise<TaskView> {
    let view = first;
    for (let waitMs = LOOK_MS.first; !isFinal(view.state); waitMs *= 2) {
      await pause(Math.min(waitMs, LOOK_MS.most), undefined, { signal });
      const url = this.#at(`/v1/tasks/${encodeURIComponent(view.task_id)}`);
      const answer = await this.#o.request(url, { method: 'GET', headers: this.#headers, signal });
      if (answer.status < 300) view = this.#taken(answer);
      else await this.#bear(errorOf(answer, this.#agent), answer, signal);
    }
    return view;
  }

  /** Notifies the agent that its result is no longer needed; the outcome is not awaited. */
  async giveUp(envelope: Envelope): Promise<void> {
    const seq = this.#clock.wallMs() * 1_000;
    const cancel = this.#ours(cancelOf(envelope), seq);
    await this.#post(cancel, AbortSignal.timeout(CANCEL_MS)).catch(() => undefined);
  }

  /** Polls again while the agent is busy or temporarily unavailable. */
  async #bear(error: TroupeError, answer: AgentAnswer, signal: AbortSignal): Promise<void> {
    if (error.code !== 'RATE_LIMIT_EXCEEDED' && error.code !== 'UNAVAILABLE') throw error;
    await pause((answer.retryAfterSec ?? 1) * 1_000, undefined, { signal });
  }

  #ours(envelope: Envelope, seq: number): Envelope {
    return {
      ...envelope,
      ...this.#name,
      request_id: randomUUID(),
      causation_id: envelope.request_id,
      timestamp: new Date(this.#clock.wallMs()).toISOString(),
      seq,
    };
  }

  async #post(envelope: Envelope, signal: AbortSignal): Promise<AgentAnswer> {
    const signature = await this.#o.sign?.(envelope);
    return this.#o.request(this.#at('/v1/envelopes'), {
      method: 'POST',
      headers: { ...this.#headers, ...(signature ? { 'x-jws-signature': signature } : {}) },
      body: JSON.stringify(envelope),
      signal,
    });
  }

  #at(path: string): URL {
    return new URL(`${this.#base}${path}`);
  }

  /** @throws TroupeError INTERNAL when the answer is not a task */
  #taken({ body, status }: AgentAnswer): TaskView {
    const view = body as Partial<TaskView> | undefined;
    const states: readonly unknown[] = TASK_STATES;
    if (typeof view?.task_id !== 'string' || !states.includes(view.state))
      throw new TroupeError(
        'INTERNAL',
        `the agent ${this.#agent.agent_id} answered ${status} without a task`,
      );
    return view as TaskView;
  }
}

/** @throws TroupeError as the task there ended */
function resultOf(view: TaskView, { agent_id }: RemoteAgent): Answer {
  const { state, result, resource_links, error } = view;
  if (state === 'SUCCEEDED') return { result, ...(resource_links ? { resource_links } : {}) };
  const codes: Partial<Record<TaskState, ErrorCode>> = {
    CANCELLED: 'CANCELLED',
    COMPENSATED: 'CANCELLED',
    EXPIRED: 'EXPIRED',
  };
  throw new TroupeError(
    error?.code ?? codes[state] ?? 'INTERNAL',
    `the agent ${agent_id} ended the task ${view.task_id} as ${state}${error ? `: ${error.message}` : ''}`,
    { details: { ...error?.details, agent_id, task_id: view.task_id, state } },
  );
}

/** Its work was done before the cancel came. @throws TroupeError CONFLICT, else as it ended */
function undoneOf(view: TaskView, agent: RemoteAgent): Answer {
  if (view.state !== 'SUCCEEDED') return resultOf(view, agent);
  const message = `the agent ${agent.agent_id} had done the work of ${view.task_id} before it received the cancellation`;
  throw new TroupeError('CONFLICT', message, { details: { state: view.state } });
}

function errorOf(
  { status, body, retryAfterSec }: AgentAnswer,
  { agent_id }: RemoteAgent,
): TroupeError {
  const given = (body as { error?: Partial<ErrorData> } | undefined)?.error;
  const code = isErrorCode(given?.code) ? given.code : codeOf(status);
  const what = typeof given?.message === 'string' ? given.message : `status ${status}`;
  return new TroupeError(code, `the agent ${agent_id} refused: ${what}`, {
    ...(typeof given?.details === 'object' ? { details: given.details } : {}),
    ...(retryAfterSec === undefined ? {} : { retryAfterMs: retryAfterSec * 1_000 }),
  });
}

/**
 * Of an answer that some proxy on the way made. That it finds nothing says nothing of a task, least
 * of all that there is nothing to undo.
 */
const codeOf = (status: number): ErrorCode => {
  if (status === 429) return 'RATE_LIMIT_EXCEEDED';
  if (status === 401) return 'UNAUTHORIZED';
  if (status === 403) return 'FORBIDDEN';
  return status === 404 || status >= 500 ? 'UNAVAILABLE' : 'INVALID_ARGUMENT';
};

/** Final states in which nothing of the work remains, unless an operator accepted the remains. */
const UNDONE: ReadonlySet<unknown> = new Set<TaskState>([
  'FAILED',
  'CANCELLED',
  'COMPENSATED',
  'EXPIRED',
]);

/**
 * A cancellation of work that never started, or ended without a result, has nothing to undo. If the
 * outcome of the remote task is unknown, so is this one.
 */
function isUndone(envelope: Envelope, error: unknown): boolean {
  if (!isCancel(envelope) || !(error instanceof TroupeError)) return false;
  const { state, compensated } = error.details ?? {};
  return error.code === 'NOT_FOUND' || (UNDONE.has(state) && compensated !== false);
}

/** By its key, because the id of the remote task may not be known yet. */
const cancelOf = (envelope: Envelope): Envelope => {
  const { subject } = envelope.payload;
  return {
    ...envelope,
    action: `${envelope.action}.cancel`,
    idempotency_key: `${envelope.idempotency_key}.cancel`,
    payload: {
      schema_version: '1.0',
      idempotency_key: envelope.idempotency_key,
      reason: 'the task that asked for it was cancelled',
      ...subjectFieldOf(subject ?? envelope.context_id),
    },
  };
};
const subjectFieldOf = (subject: unknown): { subject?: string } =>
  typeof subject === 'string' && subject !== '' ? { subject } : {};

const isCancel = ({ action }: Envelope): boolean => action.endsWith('.cancel');

/** Aborted for another reason than that this worker stops. */
const isUnwanted = ({ reason }: AbortSignal): boolean =>
  !(reason instanceof TroupeError && reason.details?.['reason'] === 'WORKER_STOPS');
