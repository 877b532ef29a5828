/**
 * Programs that send envelopes with idempotency keys while the cell is broken. An envelope without
 * a response is sent again, unchanged; each response must name the same task.
 */
import { randomUUID } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';
import { errorCodeOf } from '../error-code.ts';
import { isFinal, type TaskState } from '../../protocols/task.ts';
import { bodyOf, type Target } from '../target.ts';
import { envelopeOf } from '../workloads/envelopes.ts';
import { principalOf } from '../workloads/program-token.ts';
import type { SentTask, ShownTask } from './account.ts';
import { untilDone } from './until-done.ts';

export type ProgramsOptions = {
  /** with the token of a program */
  readonly target: Pick<Target, 'http'>;
  readonly bearer: string;
  /** an action that returns its payload */
  readonly action: string;
  readonly prefix: string;
  /** ends the attempts of everything */
  readonly signal: AbortSignal;
};

type Task = { readonly task_id: string; readonly state: TaskState; readonly result?: unknown };

const RESPONSE_MS_MAX = 5_000;

export class Programs {
  readonly sent: SentTask[] = [];
  readonly #options: ProgramsOptions;
  readonly #open = new Set<Promise<void>>();

  constructor(options: ProgramsOptions) {
    this.#options = options;
  }

  get ended(): number {
    return this.sent.filter(({ state }) => state !== undefined).length;
  }

  /** Resolves when the task has ended, or `signal` has ended the attempts. */
  async send(): Promise<void> {
    const text = `${this.#options.prefix}-task-${this.sent.length + 1}`;
    const key = randomUUID();
    const task: SentTask = { key, text, sentAt: new Date().toISOString(), requests: 0, ids: [] };
    this.sent.push(task);
    const life = this.#live(task);
    this.#open.add(life);
    await life.finally(() => this.#open.delete(life));
  }

  /** Resolves when every task has ended, or `signal` has ended the attempts. */
  async settled(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }

  async #live(task: SentTask): Promise<void> {
    const { signal, bearer, action } = this.#options;
    const payload = { text: task.text };
    const envelope = envelopeOf(principalOf(bearer), { action, payload }, task.key);
    const body = JSON.stringify(envelope);
    const onError = (error: unknown) => void (task.lastError = errorCodeOf(error));
    const note = ({ task_id: id, state }: Task): boolean => {
      if (!task.ids.includes(id)) task.ids.push(id);
      if (!isFinal(state)) return false;
      task.state = state;
      task.endedAt = new Date().toISOString();
      return true;
    };
    const send = async () => {
      task.requests++;
      note(await this.#http('POST', '/v1/envelopes', { body }));
      return true;
    };
    const read = async () =>
      task.state !== undefined || note(await this.#http('GET', `/v1/tasks/${task.ids[0]!}`));
    if (await untilDone(send, signal, onError)) await untilDone(read, signal, onError);
  }

  /** How the gateway shows a task after the test; undefined: it does not know it. */
  async shown(id: string): Promise<ShownTask | undefined> {
    const { state, result } = await this.#http('GET', `/v1/tasks/${id}`, { isOver: true }).catch(
      absentTask,
    );
    if (state === undefined) return undefined;
    const text = (result as { readonly text?: unknown } | undefined)?.text;
    return { state, ...(typeof text === 'string' && { text }) };
  }

  /** @param isOver the attempts have ended; the gateway is asked nevertheless */
  async #http(
    method: 'GET' | 'POST',
    path: string,
    { body, isOver = false }: { readonly body?: string; readonly isOver?: boolean } = {},
  ): Promise<Task> {
    const { target, bearer, signal } = this.#options;
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
    const late = AbortSignal.timeout(RESPONSE_MS_MAX);
    const either = isOver ? late : AbortSignal.any([signal, late]);
    const request = { method, path, headers, signal: either, ...(body !== undefined && { body }) };
    return bodyOf<Task>(await target.http(request));
  }
}

function absentTask(error: unknown): Partial<Task> {
  if (error instanceof TroupeError && error.code === 'NOT_FOUND') return {};
  throw error;
}
