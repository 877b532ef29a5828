/**
 * One session that a test steps by hand: each action answers what the step requested of the host.
 */
import { sessionMachine } from '../../../actors/session/machine.ts';
import type { PlannedCall } from '../../../agent/policy/planned-call.ts';
import type {
  AssembleOutput,
  CallModelOutput,
  SessionContext,
  ToolResult,
} from '../../../actors/session/types.ts';
import { address, type Address } from '../../../protocols/address.ts';
import type { AgentSettings } from '../../../protocols/agent.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { RunEvent, RunRow, SessionEntry } from '../../../protocols/session.ts';
import type {
  Append,
  Message,
  Project,
  Publish,
  Reply,
  Tell,
} from '../../../protocols/statechart.ts';
import {
  type StepRequest,
  initialState,
  type Cause,
  failed,
  fired,
  type Live,
  settled,
  step,
} from '../../../runtime/statechart/host.ts';
import { requestsOf } from '../../charts/coverage.ts';

const agent = address('default', 'agent', 'main');

export const settings: AgentSettings = {
  agentId: 'main',
  timeoutMs: 100_000,
  runsMax: 1,
  tokensPerDay: 0,
};

export const call = (id: string, more: Partial<PlannedCall> = {}): PlannedCall => ({
  id,
  name: 'look',
  args: { at: id },
  class: 'repeatable',
  parallel: true,
  confinement: { sandboxed: true, workspaceAccess: 'rw' },
  ...more,
});

export const answer = (
  planned: readonly PlannedCall[],
  more: Partial<CallModelOutput> = {},
): CallModelOutput => ({
  text: planned.length > 0 ? '' : 'so it is',
  calls: planned.map(({ id, name, args }) => ({ id, name, args })),
  planned,
  stop: planned.length > 0 ? 'tools' : 'end',
  usage: { inputTokens: 3, outputTokens: 2 },
  model: 'offline/echo',
  ...more,
});

export const resultOf = (callId: string, result = 'done'): ToolResult => ({
  callId,
  name: 'look',
  result,
  isError: false,
});

/** The prompt is as the transcript has it. */
export const ASSEMBLED: AssembleOutput = { digest: 'd', replyHooks: false };

export class Driven {
  #now = 1_000;
  readonly self: Address;
  #live: Live;
  readonly rows = new Map<string, RunRow>();
  readonly entries: SessionEntry[] = [];
  /** inputs of the started effects, by the id of their invocation */
  readonly started = new Map<string, unknown>();

  constructor(sessionKey = 'agent:main:main') {
    this.self = address('default', 'session', sessionKey);
    this.#live = initialState(
      sessionMachine,
      { self: this.self, tenant: 'default', key: sessionKey, now: 1_000 },
      { id: 'm0', now: 1_000, self: this.self },
    ).live;
  }

  get context(): SessionContext {
    return this.#live.snapshot.context as SessionContext;
  }
  get state(): unknown {
    return this.#live.snapshot.value;
  }

  receive(runId: string, more: object = {}, from?: Address): Said {
    return this.send({ type: 'session.receive', runId, text: `text of ${runId}`, ...more }, from);
  }

  /** A first run that is admitted and waits for its model. */
  begin(runId: string, given: Partial<AgentSettings> = {}): void {
    this.receive(runId);
    this.admit(runId, given);
  }
  admit(runId: string, given: Partial<AgentSettings> = {}): Said {
    const admitted = { type: 'agent.admitted', runId, settings: { ...settings, ...given } };
    return this.send(admitted, agent);
  }

  send(event: Message, from?: Address): Said {
    const meta = { ...this.#meta(), ...(from ? { from } : { reply: { id: 'q' } }) };
    return this.#step({ event: { ...event, meta } });
  }
  /** The first model call of a run also says which prompt it built. */
  done(job: string, output: unknown): Said {
    const isFirst = job === 'model' && this.context.run?.isAssembled === false;
    const full = isFirst ? { assembled: ASSEMBLED, ...(output as object) } : output;
    return this.#step(settled(job, this.#live.jobs[job]!.key, full, this.#meta()));
  }
  fail(job: string, error: ErrorData): Said {
    return this.#step(failed(job, this.#live.jobs[job]!.key, error, this.#meta()));
  }
  /** Advances the time; timers that become due do not fire. */
  pass(ms: number): void {
    this.#now += ms;
  }
  /** Fires the only timer with that delay. */
  fire(delay: string): Said {
    const [id, timer] = Object.entries(this.#live.timers).find(([name]) => name.includes(delay))!;
    this.#now = Math.max(this.#now, timer.due);
    return this.#step(fired(this.#live, id, timer.key, this.#meta()));
  }

  #meta() {
    return { id: `m${++this.#now}`, now: this.#now, self: this.self };
  }

  #step(cause: Cause): Said {
    const made = step(sessionMachine, this.#live, cause, this.#now);
    if (made.error) throw new Error(made.error.message);
    this.#live = made.live;
    const heard = new Said(made.requests);
    for (const { key, value } of heard.rows('runs')) this.rows.set(key, value as RunRow);
    this.entries.push(...heard.entries);
    for (const ask of made.requests) if (ask.kind === 'start') this.started.set(ask.id, ask.input);
    return heard;
  }
}

/** What one step requested of the host. */
export class Said {
  readonly #asks: readonly StepRequest[];
  constructor(asks: readonly StepRequest[]) {
    this.#asks = asks;
  }
  get entries(): SessionEntry[] {
    return requestsOf<Append>(this.#asks, 'append').flatMap(
      ({ entries }) => entries as SessionEntry[],
    );
  }
  get events(): RunEvent[] {
    return requestsOf<Publish>(this.#asks, 'publish').map(
      ({ event }) => event as unknown as RunEvent,
    );
  }
  get tells(): Tell[] {
    return requestsOf<Tell>(this.#asks, 'tell');
  }
  get answers(): Reply[] {
    return requestsOf<Reply>(this.#asks, 'reply');
  }
  rows(index: string): Project[] {
    return requestsOf<Project>(this.#asks, 'project').filter((row) => row.index === index);
  }
}
