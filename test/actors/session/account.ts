/**
 * A record of every run of a session: its transcript entries, reports, questions, releases and
 * rows.
 */
import type { SessionContext } from '../../../actors/session/types.ts';
import { address } from '../../../protocols/address.ts';
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
import { demand, type Happened, type Ledger, requestsOf } from '../../charts/coverage.ts';

export const agent = address('default', 'agent', 'main');
/** an agent that sends messages and receives a report of each end */
export const asker = address('default', 'conversation', 'asker');
export const contextOf = (live: Live) => live.snapshot.context as SessionContext;

/** What a session has done for one run. */
type Seen = {
  begun: number;
  ends: number;
  starts: number;
  published: number;
  released: number;
  /** entries since its message, or since its last compaction */
  entries: number;
};
const UNSEEN: Seen = { begun: 0, ends: 0, starts: 0, published: 0, released: 0, entries: 0 };

export class Account implements Ledger {
  readonly seen: Map<string, Seen>;
  readonly rows: Map<string, RunRow>;
  /** accepted runs that have not ended */
  readonly owed: Set<string>;
  /** of those, the ones whose sender has not received its report */
  readonly listening: Set<string>;
  /** tool calls without a result, in order */
  calls: readonly string[];
  /** questions that are neither answered nor withdrawn */
  readonly asked: Set<string>;
  /** slots of the agent that the session has and has not returned */
  readonly leases: Set<number>;
  row: SessionRow | undefined;
  appended: number;

  constructor(from?: Account) {
    this.seen = new Map(from?.seen);
    this.rows = new Map(from?.rows);
    this.owed = new Set(from?.owed);
    this.listening = new Set(from?.listening);
    this.asked = new Set(from?.asked);
    this.leases = new Set(from?.leases);
    this.calls = from?.calls ?? [];
    this.row = from?.row;
    this.appended = from?.appended ?? 0;
  }

  copy(): Ledger {
    return new Account(this);
  }

  take({ cause, meta, step }: Happened): void {
    const { requests, live } = step;
    if (cause.event.type === 'reply' && meta.from) this.asked.delete(meta.from);
    if (cause.event.type === 'agent.admitted') this.leases.add(cause.event['lease'] as number);
    for (const { entries } of requestsOf<Append>(requests, 'append'))
      for (const entry of entries as SessionEntry[]) this.#write(entry, cause.event);
    for (const { event } of requestsOf<Publish>(requests, 'publish'))
      this.#countPublished(event as unknown as RunEvent);
    for (const tell of requestsOf<Tell>(requests, 'tell')) this.#tell(tell);
    for (const project of requestsOf<Project>(requests, 'project')) this.#show(project);
    this.#checkReplies(cause.event, requestsOf<Reply>(requests, 'reply'), meta.id);
    this.#checkContext(contextOf(live));
    this.#checkOwed(contextOf(live));
  }

  #note(runId: string, what: keyof Seen, to?: number): void {
    const seen = this.seen.get(runId) ?? UNSEEN;
    this.seen.set(runId, { ...seen, [what]: to ?? seen[what] + 1 });
  }

  #write(entry: SessionEntry, cause: Message): void {
    this.appended++;
    this.#note(entry.runId, 'entries');
    if (entry.type === 'user' && entry.of === undefined) this.#note(entry.runId, 'begun');
    const isReport = entry.type === 'user' && entry.origin?.kind === 'subagents';
    const isHeardAtOnce = cause.type === 'session.receive' || isReport;
    if (entry.type === 'user' && entry.of !== undefined && !isHeardAtOnce)
      demand(this.rows.get(entry.of)?.status, 'a message that steers was queued').toBe('queued');
    if (entry.type === 'compaction') this.#note(entry.runId, 'entries', 1);
    if (entry.type === 'run.end') {
      this.#note(entry.runId, 'ends');
      this.calls = [];
    }
    if (entry.type === 'assistant') {
      demand(this.calls, 'every call has its result before the model is called').toEqual([]);
      this.calls = (entry.calls ?? []).map(({ id }) => id);
    }
    if (entry.type === 'tool') {
      const [next, ...others] = this.calls;
      demand(entry.callId, 'results come in the order of the calls').toBe(next);
      this.calls = others;
    }
  }

  #countPublished(event: RunEvent): void {
    if (event.stream !== 'lifecycle') return;
    this.#note(event.runId, event.phase === 'start' ? 'starts' : 'published');
  }

  #tell({ to, event }: Tell): void {
    if (event.type === 'agent.release') this.#note(event['runId'] as string, 'released');
    if ('lease' in event) demand(this.leases.delete(event['lease'] as number)).toBe(true);
    if (event.type === 'approval.ask') this.asked.add(to);
    else if (event.type === 'approval.withdraw') demand(this.asked.delete(to)).toBe(true);
    else if (event.type.startsWith('agent.')) demand(to).toBe(agent);
    else if (event.type === 'run.ended') {
      demand(to).toBe(asker);
      demand(this.listening.delete(event['runId'] as string), 'the end is reported once').toBe(
        true,
      );
    } else demand(event.type).toMatch(/^(subagent|conversation|session)\./);
  }

  #show({ index, key, value }: Project): void {
    if (index === 'sessions') this.row = value as SessionRow;
    else this.rows.set(key, value as RunRow);
  }

  #checkReplies(event: Message, replies: readonly Reply[], id: string): void {
    const atOnce = ['receive', 'abort', 'set', 'reset'].map((name) => `session.${name}`);
    const mine = replies.filter(({ to }) => to?.id === id);
    if (atOnce.includes(event.type)) demand(mine.length, 'answers').toBe(1);
    const [answer] = mine;
    if (event.type === 'session.receive' && answer?.result) {
      this.owed.add(event['runId'] as string);
      if (event['notify']) this.listening.add(event['runId'] as string);
    }
    if (event.type !== 'session.abort') return;
    for (const runId of (answer!.result as { aborted: string[] }).aborted) {
      demand(this.rows.get(runId)?.status, `row of the aborted ${runId}`).toBe('aborted');
    }
  }

  #checkContext({ length, run, queue, folded }: SessionContext): void {
    demand(this.appended, 'entries').toBe(length);
    if (run) {
      const { runId, entries, asked } = run;
      const seen = this.seen.get(runId);
      demand(seen).toMatchObject({ begun: 1, entries, ends: 0, published: 0, released: 0 });
      demand(this.rows.get(runId)?.status).toBe('running');
      for (const joined of run.joined)
        demand(this.rows.get(joined.runId)).toMatchObject({ status: 'running', joined: runId });
      demand(this.asked.size, 'open questions').toBe(asked === undefined ? 0 : 1);
    }
    demand([...this.leases], 'slots').toEqual(run?.lease === undefined ? [] : [run.lease]);
    if (!run) demand([...this.asked], 'open questions').toEqual([]);
    for (const { runId } of [...queue, ...folded])
      demand(this.rows.get(runId)?.status).toBe('queued');
    if (!this.row) return;
    const status = run ? 'running' : 'idle';
    const pending = queue.length + folded.length;
    demand(this.row).toMatchObject({ messages: length, pending, status });
  }

  /**
   * A run that neither waits, runs nor joined another one has ended once, like the run it joined.
   */
  #checkOwed({ run, queue, folded }: SessionContext): void {
    const active = run ? [run, ...run.joined] : [];
    const open = new Set([...queue, ...folded, ...active].map(({ runId }) => runId));
    for (const runId of this.owed) {
      if (open.has(runId)) continue;
      demand(
        this.listening.has(runId),
        `${runId} has ended, and its sender still waits for the report`,
      ).toBe(false);
      const { begun, ends, published, released, starts } = this.seen.get(runId) ?? UNSEEN;
      demand({ ends, published, released }, `ends of ${runId}`).toEqual({
        ends: begun,
        published: 1,
        released: begun,
      });
      demand(starts, `starts of ${runId}`).toBeLessThanOrEqual(begun);
      const row = this.rows.get(runId)!;
      demand(row.status, `row of ${runId}`).toMatch(/ok|error|aborted|timeout/);
      if (row.joined) demand(this.rows.get(row.joined)?.status).toBe(row.status);
      this.owed.delete(runId);
    }
  }
}
