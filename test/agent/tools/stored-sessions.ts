/**
 * Sessions in a store, without a running system: rows and transcripts as actors write them, read by
 * the real index and the real transcripts. For sizes that would take too long to create by
 * messages.
 */
import type { ToolContext } from '../../../agent/tools/tool.ts';
import { address } from '../../../protocols/address.ts';
import { encode } from '../../../protocols/codec.ts';
import type { SessionEntry, SessionRow } from '../../../protocols/session.ts';
import { transcriptSubject } from '../../../protocols/subjects.ts';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { createMemoryStore } from '../../../runtime/log/memory.ts';
import { createIndex } from '../../../runtime/reads.ts';
import { encodeKept } from '../../../runtime/shard/commit/records.ts';
import { LogTranscripts } from '../../../runtime/transcripts.ts';
import { toolContext } from './context.ts';

export const NOW = Date.parse('2026-03-01T12:00:00Z');
const MINUTE = 60_000;
const SHARDS = 4;

/** An idle session that was last active this many minutes ago. */
export const sessionRow = (
  sessionKey: string,
  minutesAgo: number,
  more: Partial<SessionRow> = {},
): SessionRow => ({
  sessionKey,
  sessionId: `id of ${sessionKey}`,
  agentId: sessionKey.split(':')[1] ?? 'main',
  status: 'idle',
  updatedAt: NOW - minutesAgo * MINUTE,
  createdAt: NOW - 10_000 * MINUTE,
  messages: 4,
  pending: 0,
  usage: { inputTokens: 1_000, outputTokens: 200 },
  lastMessage: `words of ${sessionKey}`,
  ...more,
});

export type StoredSessions = {
  readonly context: (changes?: Partial<ToolContext>) => ToolContext;
  /** any row of the tenant `default` */
  put(index: string, rows: Readonly<Record<string, object>>): Promise<void>;
  sessions(...rows: readonly SessionRow[]): Promise<void>;
  /** appends to the transcript of a session */
  say(sessionKey: string, entries: readonly SessionEntry[]): Promise<void>;
  /** the number of transcript entries that were read until now */
  entriesRead(): number;
};

export function storedSessions(): StoredSessions {
  const { state, log } = createMemoryStore({ clock: systemClock });
  const index = createIndex(state, SHARDS);
  const transcripts = new LogTranscripts(log, 'local', SHARDS);
  let read = 0;
  let stored = 0;
  const put: StoredSessions['put'] = (name, rows) =>
    state.write(
      Object.entries(rows).map(([key, value]) => ({
        shard: stored++ % SHARDS,
        table: `ix:${name}`,
        key: `default|${key}`,
        value: encode(value),
      })),
    );
  return {
    put,
    sessions: (...rows) =>
      put('sessions', Object.fromEntries(rows.map((row) => [row.sessionKey, row]))),
    async say(sessionKey, entries) {
      const to = address('default', 'session', sessionKey);
      for (const entry of entries) {
        const event = { type: 'transcript', at: entry.at, entry };
        const bytes = encodeKept({ to, id: `entry-${++stored}`, event, hops: 0 });
        await log.append(transcriptSubject('local', to), bytes);
      }
    },
    entriesRead: () => read,
    context: (changes = {}) =>
      toolContext({
        now: NOW,
        system: {
          ask: () => Promise.reject(new Error('reading tools ask no actor')),
          index: async () => index,
          transcript: (of) => ({
            async read(options) {
              const entries = await transcripts.read(of, options);
              read += entries.length;
              return entries;
            },
            last: () => transcripts.last(of),
          }),
        },
        ...changes,
      }),
  };
}

/** Entries of one run: a question, a call of a tool, and the answer. */
export const runOf = (runId: string, minutesAgo: number, tools: readonly string[] = []) => {
  const at = NOW - minutesAgo * MINUTE;
  const calls = tools.map((name, n) => ({ id: `${runId}-${n}`, name, args: { secret: 'args' } }));
  const usage = { inputTokens: 77, outputTokens: 7, costUsd: 0.5 };
  const answer = { type: 'assistant', runId, model: 'offline/x', usage, stop: 'end', at } as const;
  const entries: SessionEntry[] = [
    { type: 'user', runId, text: `question of ${runId}`, at },
    {
      type: 'prompt',
      runId,
      digest: 'd',
      system: 'the secret prompt',
      report: { sources: [], tokens: 1, tools: [], skills: [] },
      at,
    },
  ];
  if (calls.length > 0) {
    entries.push({ ...answer, text: '', calls, reasoning: 'secret thought', continuation: 'sig' });
    for (const { id, name } of calls)
      entries.push({
        type: 'tool',
        runId,
        callId: id,
        name,
        result: `result of ${name}`,
        isError: false,
        at,
      });
  }
  entries.push({ ...answer, text: `answer of ${runId}`, reasoning: 'secret thought' });
  entries.push({ type: 'run.end', runId, status: 'ok', at });
  return entries;
};
