/**
 * Collects the runs, messages and subagents that a run led to. Every transcript entry that an agent
 * caused names the conversation or subagent that it came from. The search goes from a run to what
 * it started, from there to the entries that name it, and on to the runs of those entries.
 *
 * Invariant: each run, conversation and subagent is visited once; the search ends at `depth`.
 */
import type { ConversationRow } from '../../protocols/conversation.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { RunRow, SessionEntry } from '../../protocols/session.ts';
import type { SubagentRow } from '../../protocols/subagent.ts';
import type { TraceReader } from './reader.ts';

export type TraceData = {
  readonly run: RunRow;
  /** entries read per session, in the order of the search */
  readonly sessions: ReadonlyMap<string, readonly SessionEntry[]>;
  /** per run, the index in its session's entries from which it belongs to the trace */
  readonly runs: ReadonlyMap<string, number>;
  readonly conversations: ReadonlyMap<string, ConversationRow>;
  readonly subagents: ReadonlyMap<string, SubagentRow>;
  /** messages and subagents beyond the depth */
  readonly deeper: number;
  /** sessions with more entries than were read */
  readonly cut: readonly string[];
};

/** Maximum clock difference of two workers; the search for entries starts this much earlier. */
const CLOCKS_APART_MS = 60_000;

type UserEntry = SessionEntry & { type: 'user' };

/** @throws TroupeError NOT_FOUND */
export async function gather(
  reader: TraceReader,
  runId: string,
  depthMax: number,
): Promise<TraceData> {
  const walk = new Walk(reader, runOf(reader, runId), depthMax);
  await walk.all();
  return walk;
}

/** The run itself, or the run that its message joined. @throws TroupeError NOT_FOUND */
function runOf(reader: TraceReader, runId: string): RunRow {
  const row = reader.run(runId);
  if (!row)
    throw new TroupeError(
      'NOT_FOUND',
      `there is no run ${runId.slice(0, 80)}: it never was, or it ended more than 28 hours ago`,
    );
  return (row.joined === undefined ? undefined : reader.run(row.joined)) ?? row;
}

type Visit = {
  readonly runId: string;
  readonly sessionKey: string;
  readonly from: number;
  readonly depth: number;
};

class Walk implements TraceData {
  readonly run: RunRow;
  readonly sessions = new Map<string, readonly SessionEntry[]>();
  readonly runs = new Map<string, number>();
  readonly conversations = new Map<string, ConversationRow>();
  readonly subagents = new Map<string, SubagentRow>();
  deeper = 0;
  readonly cut: string[] = [];
  readonly #reader: TraceReader;
  readonly #depthMax: number;
  readonly #visits: Visit[] = [];

  constructor(reader: TraceReader, run: RunRow, depthMax: number) {
    this.#reader = reader;
    this.#depthMax = depthMax;
    this.run = run;
  }

  async all(): Promise<void> {
    const { runId, sessionKey } = this.run;
    this.#visits.push({ runId, sessionKey, from: 0, depth: 0 });
    for (let next = this.#visits.shift(); next; next = this.#visits.shift()) {
      await this.#visit(next);
    }
  }

  async #visit({ runId, sessionKey, from, depth }: Visit): Promise<void> {
    const known = this.runs.get(runId);
    this.runs.set(runId, Math.min(from, known ?? from));
    if (known !== undefined) return;
    await this.#entries(sessionKey);
    for (const row of this.#reader.conversations(sessionKey)) {
      if (row.requesterRunId !== runId || this.conversations.has(row.id)) continue;
      if (depth >= this.#depthMax) this.deeper++;
      else {
        this.conversations.set(row.id, row);
        await this.#follow(row.id, [row.target, row.requester], depth + 1);
      }
    }
    for (const row of this.#reader.subagents(sessionKey)) {
      if (row.parentRunId !== runId || this.subagents.has(row.id)) continue;
      if (depth >= this.#depthMax) this.deeper++;
      else {
        this.subagents.set(row.id, row);
        await this.#follow(row.id, [row.sessionKey, row.parent], depth + 1);
      }
    }
  }

  /** The runs of these sessions with entries of the conversation or subagent. */
  async #follow(id: string, sessionKeys: readonly string[], depth: number): Promise<void> {
    for (const sessionKey of sessionKeys) {
      const entries = await this.#entries(sessionKey);
      entries.forEach((entry, at) => {
        if (!isOf(entry, id)) return;
        const from = entry.of === undefined ? 0 : at;
        this.#visits.push({ runId: entry.runId, sessionKey, from, depth });
      });
    }
  }

  async #entries(sessionKey: string): Promise<readonly SessionEntry[]> {
    const known = this.sessions.get(sessionKey);
    if (known) return known;
    const own = sessionKey === this.run.sessionKey;
    const since = this.run.acceptedAt - (own ? 0 : CLOCKS_APART_MS);
    const { entries, cut } = await this.#reader.entries(sessionKey, since);
    this.sessions.set(sessionKey, entries);
    if (cut) this.cut.push(sessionKey);
    return entries;
  }
}

const isOf = (entry: SessionEntry, id: string): entry is UserEntry =>
  entry.type === 'user' && entry.origin?.ids.includes(id) === true;
