/** All that may happen to a session, and what it has promised on every path. */
import {
  ATTEMPTS_MAX,
  CALLS_MAX,
  QUEUE_MAX,
  sessionMachine,
} from '../../../actors/session/machine.ts';
import type { CallModelOutput, SessionContext } from '../../../actors/session/types.ts';
import { address } from '../../../protocols/address.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { RunEvent, RunRow, SessionEntry, SessionRow } from '../../../protocols/session.ts';
import type {
  Append,
  Message,
  Project,
  Publish,
  Reply,
  Tell,
} from '../../../protocols/statechart.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Ledger,
  said,
} from '../../charts/coverage.ts';

const self = address('default', 'session', 'agent:main:main');
const agent = address('default', 'agent', 'main');
const contextOf = (live: Live) => live.snapshot.context as SessionContext;

/** What became of one run, as the world saw it. */
type Seen = {
  begun: number;
  entries: number;
  ends: number;
  starts: number;
  told: number;
  released: number;
};
const UNSEEN: Seen = { begun: 0, entries: 0, ends: 0, starts: 0, told: 0, released: 0 };

/** An account of every run of a session: what was written, told, released and shown. */
class Runs implements Ledger {
  readonly seen: Map<string, Seen>;
  readonly rows: Map<string, RunRow>;
  /** accepted and not yet at their end */
  readonly owed: Set<string>;
  row: SessionRow | undefined;
  appended: number;

  constructor(from?: Runs) {
    this.seen = new Map(from?.seen);
    this.rows = new Map(from?.rows);
    this.owed = new Set(from?.owed);
    this.row = from?.row;
    this.appended = from?.appended ?? 0;
  }

  copy(): Ledger {
    return new Runs(this);
  }

  take({ cause, meta, step }: Happened): void {
    const { asks, live } = step;
    for (const { entries } of said<Append>(asks, 'append')) this.#write(entries as SessionEntry[]);
    for (const { event } of said<Publish>(asks, 'publish'))
      this.#hear(event as unknown as RunEvent);
    for (const { to, event } of said<Tell>(asks, 'tell')) {
      demand(to).toBe(agent);
      if (event.type === 'agent.release') this.#note(event['runId'] as string, 'released');
    }
    for (const project of said<Project>(asks, 'project')) this.#show(project);
    this.#checkReplies(cause.event, said<Reply>(asks, 'reply'), meta.id);
    this.#checkContext(contextOf(live));
  }

  #note(runId: string, what: keyof Seen): void {
    const seen = this.seen.get(runId) ?? UNSEEN;
    this.seen.set(runId, { ...seen, [what]: seen[what] + 1 });
  }

  #write(entries: readonly SessionEntry[]): void {
    this.appended += entries.length;
    for (const { type, runId } of entries) {
      this.#note(runId, 'entries');
      if (type === 'user') this.#note(runId, 'begun');
      if (type === 'run.end') this.#note(runId, 'ends');
    }
  }

  #hear(event: RunEvent): void {
    if (event.stream !== 'lifecycle') return;
    this.#note(event.runId, event.phase === 'start' ? 'starts' : 'told');
  }

  #show({ index, key, value }: Project): void {
    if (index === 'sessions') this.row = value as SessionRow;
    else if (value === null) this.rows.delete(key);
    else this.rows.set(key, value as RunRow);
  }

  #checkReplies(event: Message, replies: readonly Reply[], id: string): void {
    const asked = event.type === 'session.receive' || event.type === 'session.abort';
    demand(replies.map(({ to }) => to?.id)).toEqual(asked ? [id] : []);
    const [answer] = replies;
    if (event.type === 'session.receive' && answer?.result) this.owed.add(event['runId'] as string);
    if (event.type !== 'session.abort') return;
    for (const runId of (answer!.result as { aborted: string[] }).aborted) {
      demand(this.rows.get(runId)?.status, `row of the aborted ${runId}`).toBe('aborted');
    }
  }

  #checkContext({ length, run, queue }: SessionContext): void {
    demand(this.appended, 'entries').toBe(length);
    const waiting = new Set(queue.map(({ runId }) => runId));
    if (run) {
      const seen = this.seen.get(run.runId);
      demand(seen).toMatchObject({ begun: 1, entries: run.entries, ends: 0, told: 0, released: 0 });
      demand(this.rows.get(run.runId)?.status).toBe('running');
    }
    for (const runId of waiting) demand(this.rows.get(runId)?.status).toBe('queued');
    for (const runId of this.owed) {
      if (runId === run?.runId || waiting.has(runId)) continue;
      const { begun, ends, told, released, starts } = this.seen.get(runId) ?? UNSEEN;
      demand({ ends, told, released }, `ends of ${runId}`).toEqual({
        ends: begun,
        told: 1,
        released: begun,
      });
      demand(starts, `starts of ${runId}`).toBeLessThanOrEqual(begun);
      demand(this.rows.get(runId)?.status, `row of ${runId}`).toMatch(/ok|error|aborted|timeout/);
      this.owed.delete(runId);
    }
    if (!this.row) return;
    const status = run ? 'running' : 'idle';
    demand(this.row).toMatchObject({ messages: length, pending: queue.length, status });
  }
}

const answer = (calls: number): CallModelOutput => ({
  text: 'so it is',
  calls: Array.from({ length: calls }, (_, n) => ({ id: `c${n}`, name: 'clock', args: {} })),
  stop: calls > 0 ? 'tools' : 'end',
  usage: { inputTokens: 3, outputTokens: 2 },
  model: 'offline/echo',
});
const failure = (code: ErrorData['code'], retryAfterMs?: number): ErrorData => ({
  code,
  message: 'the provider said so',
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});
const settings = { agentId: 'main', timeoutMs: 100_000, runsMax: 1, tokensPerDay: 0 };

export const exploration: Exploration = {
  machine: sessionMachine,
  self,
  ledger: () => new Runs(),
  moves: (live) => {
    const { run, queue } = contextOf(live);
    const runId = run?.runId ?? 'none';
    const told = (name: string, event: Message) => ({
      name,
      event,
      from: agent,
      tell: true as const,
    });
    const refusal = { to: 'm1', error: failure('UNAVAILABLE') };
    return [
      { name: 'receive', event: { type: 'session.receive', runId: `r${live.seq}`, text: 'hello' } },
      {
        name: 'receive with wishes',
        event: {
          type: 'session.receive',
          runId: `r${live.seq}`,
          text: 'hello',
          sender: 'Ada',
          model: 'offline/echo',
          thinking: 'high',
          extraSystemPrompt: 'Be brief.',
          timeoutMs: 700,
        },
      },
      { name: 'abort all', event: { type: 'session.abort' } },
      { name: 'abort the run', event: { type: 'session.abort', runId } },
      {
        name: 'abort what waits',
        event: { type: 'session.abort', runId: queue.at(-1)?.runId ?? 'none' },
      },
      { name: 'abort nothing', event: { type: 'session.abort', runId: 'unknown' } },
      told('admitted', { type: 'agent.admitted', runId, settings }),
      told('admitted too late', { type: 'agent.admitted', runId: 'gone', settings }),
      told('refused by the agent', { type: 'agent.refused', runId, error: failure('FORBIDDEN') }),
      told('refused too late', {
        type: 'agent.refused',
        runId: 'gone',
        error: failure('FORBIDDEN'),
      }),
      told('no agent', { type: 'refused', message: 'agent.admit', ...refusal }),
      told('release is refused', { type: 'refused', message: 'agent.release', ...refusal }),
      { name: 'answer', job: 'model', output: answer(0) },
      { name: 'tools, please', job: 'model', output: answer(2) },
      { name: 'try later', job: 'model', error: failure('UNAVAILABLE') },
      { name: 'try much later', job: 'model', error: failure('RATE_LIMIT_EXCEEDED', 60_000) },
      { name: 'never', job: 'model', error: failure('INVALID_ARGUMENT') },
      {
        name: 'results',
        job: 'tools',
        output: answer(2).calls.map(({ id, name }) => ({
          callId: id,
          name,
          result: '12:00',
          isError: false,
        })),
      },
      { name: 'tools fail', job: 'tools', error: failure('INTERNAL') },
    ];
  },
  key: (live) => {
    const { run, queue } = contextOf(live);
    return [
      live.snapshot.value,
      queue.length >= QUEUE_MAX ? 'full' : Math.min(queue.length, 2),
      run?.attempt ?? 0,
      (run?.calls ?? 0) + 1 >= CALLS_MAX ? 'last' : Math.min(run?.calls ?? 0, 2),
      run?.settings?.timeoutMs,
    ];
  },
  scripts: [
    Array<string>(QUEUE_MAX + 1).fill('receive'),
    [
      'receive',
      'admitted',
      ...Array.from({ length: CALLS_MAX - 1 }, () => ['tools, please', 'results']).flat(),
    ],
    [
      'receive',
      'admitted',
      ...Array.from({ length: ATTEMPTS_MAX - 1 }, () => ['try later', 'timer:retryBackoff']).flat(),
    ],
  ],
};
