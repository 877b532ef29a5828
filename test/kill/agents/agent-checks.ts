/**
 * Checks subagents and conversations after kills, from transcripts, index rows and the contexts of
 * sessions. Each task, turn and announcement exists once, each result is read once, the budgets are
 * complete, and nothing remains open.
 */
import { expect } from 'vitest';
import type { SessionContext } from '../../../actors/session/types.ts';
import type { ConversationRow } from '../../../protocols/conversation.ts';
import type { SessionEntry } from '../../../protocols/session.ts';
import type { SubagentOutcome, SubagentRow } from '../../../protocols/subagent.ts';
import {
  addressOf,
  requesterOf,
  rootOf,
  type Rows,
  conversationOf,
  targetOf,
  TREE_LIMITS,
} from './held-agents.ts';
import type { Stored } from '../stored.ts';
import { REPORT_READ } from './agent-model.ts';
import { CHILDREN, CONVERSATIONS, TREES, TURNS } from './agent-scripts.ts';

/** By label, the allowed outcomes; default completed. */
const OUTCOMES: Readonly<Record<string, readonly SubagentOutcome[]>> = {
  'late-1': ['timedOut'],
  'doomed-1': ['killed'],
};
/** By label, the text of the result; default `done LABEL`. */
const FINDINGS: Readonly<Record<string, string>> = {
  'free-1': REPORT_READ,
  'late-1': '',
  'doomed-1': '',
};

type Entries = readonly SessionEntry[];
type EntriesOf = (sessionKey: string) => Promise<Entries>;

/** @param suffixes of all started work */
export async function checkAll(
  rows: Rows,
  stored: Stored,
  suffixes: readonly number[],
): Promise<void> {
  const known = new Map<string, Entries>();
  const entriesOf: EntriesOf = async (key) => {
    const entries = known.get(key) ?? (await stored.entriesOf(addressOf(key)));
    known.set(key, entries);
    return entries;
  };
  checkRows(rows);
  for (const row of rows.subagents) await checkSubagent(row, entriesOf);
  for (const row of rows.conversations) await checkConversation(row, entriesOf);
  for (const tree of Object.keys(TREES) as (keyof typeof TREES)[])
    for (const suffix of suffixes) await checkTree(tree, rootOf(tree, suffix), rows, stored);
  const wanted = suffixes.flatMap((suffix) =>
    CONVERSATIONS.map((name) => [requesterOf(name, suffix), targetOf(name, suffix)]),
  );
  const found = rows.conversations.map(({ requester, target }) => [requester, target]);
  same('conversations', found.toSorted(), wanted.toSorted());
  for (const [key, entries] of known) {
    checkSession(key, entries);
    await checkIdle(key, stored);
  }
}

const same = (about: string, found: unknown, wanted: unknown): void =>
  expect({ about, found }).toEqual({ about, found: wanted });

/** No subagent or conversation is open or overdue, and there are no dead letters. */
export function checkRows({ census, deadLetters, conversations }: Rows): void {
  const { open, unreported, overdue } = census;
  same('census', { open, unreported, overdue }, { open: [], unreported: 0, overdue: 0 });
  same('dead letters', deadLetters, []);
  const ended = conversations.filter(({ status }) => status !== 'ended');
  same('open conversations', ended, []);
}

// ---- subagents

async function checkSubagent(row: SubagentRow, entriesOf: EntriesOf): Promise<void> {
  const { id, label = '', parent, sessionKey, status, runId } = row;
  const about = `${label} (${id}) of ${parent}`;
  expect(OUTCOMES[label] ?? ['completed'], `end of ${about}`).toContain(status);
  expect(row.reported, `reports of ${about}`).toMatch(/^(steer|followup|collect|waited)$/);
  const own = await entriesOf(sessionKey);
  same(`tasks of ${about}`, own.filter(isUserOf(runId)).length, 1);
  const texts = textsAbout(id, await entriesOf(parent));
  same(`texts about ${about}`, texts.length, 1);
  expect(texts[0], `findings of ${about}`).toContain(FINDINGS[label] ?? `done ${label}`);
}

/** The texts that contain the subagent's result: results of waiting tool calls, and reports. */
export function textsAbout(id: string, entries: Entries): readonly string[] {
  return entries.flatMap((entry) => {
    if (entry.type === 'user')
      return entry.origin?.kind === 'subagents' && entry.origin.ids.includes(id)
        ? [entry.text]
        : [];
    if (entry.type !== 'tool' || !entry.result.includes(id)) return [];
    return entry.result.includes('"accepted"') ? [] : [entry.result];
  });
}

const isUserOf =
  (runId: string) =>
  (entry: SessionEntry): boolean =>
    entry.type === 'user' && (entry.of ?? entry.runId) === runId;

/** Checks which subagents a tree has, and that the root's budget has received all grants back. */
async function checkTree(
  tree: keyof typeof TREES,
  root: string,
  { subagents }: Rows,
  stored: Stored,
): Promise<void> {
  const mine = subagents.filter((row) => row.root === root);
  const labels = mine.map(({ label }) => label).toSorted();
  same(`subagents of ${root}`, labels, CHILDREN[tree]);
  const { books } = (await stored.contextOf(addressOf(root))) as SessionContext;
  const used = books!.below.usage;
  const { spawns, tokens } = books!;
  same(
    `budget of ${root}`,
    { spawns, tokens, spawned: books!.below.spawned },
    {
      spawns: TREE_LIMITS.spawns - mine.length,
      tokens: TREE_LIMITS.tokens - used.inputTokens - used.outputTokens,
      spawned: mine.length,
    },
  );
}

// ---- exchanges

async function checkConversation(row: ConversationRow, entriesOf: EntriesOf): Promise<void> {
  const { id, requester, target, turns } = row;
  const about = `conversation of ${requester}`;
  const asked = turns.map(({ turn, status }) => ({ turn, status }));
  const wanted = TURNS[conversationOf(requester)].map((turn) => ({ turn, status: 'ok' }));
  same(about, asked, wanted);
  for (const { runId, sessionKey } of turns) {
    const entries = await entriesOf(sessionKey);
    same(`${runId} in ${sessionKey}`, entries.filter(isUserOf(runId)).length, 1);
  }
  const announcements = (await entriesOf(target)).filter(
    ({ type, runId }) => type === 'assistant' && runId === `talk-${id}-announce`,
  );
  same(`announcements of the ${about}`, announcements.length, 1);
  const results = (await entriesOf(requester)).filter(
    (entry) => entry.type === 'tool' && entry.name === 'sessions_send',
  );
  expect(results, `results of the ${about}`).toHaveLength(1);
  expect(results[0], `result of the ${about}`).toMatchObject({ isError: false });
}

// ---- sessions

/** Checks that each message, run end and tool result occurs once. */
function checkSession(sessionKey: string, entries: Entries): void {
  const users = entries.flatMap((entry) => (entry.type === 'user' ? [entry] : []));
  const messages = users.map(({ of, runId }) => of ?? runId).toSorted();
  same(`messages of ${sessionKey}`, messages, [...new Set(messages)].toSorted());
  const runs = [...new Set(users.map(({ runId }) => runId))].toSorted();
  const ends = entries.flatMap((entry) => (entry.type === 'run.end' ? [entry.runId] : []));
  same(`ends of ${sessionKey}`, ends.toSorted(), runs);
  const calls = entries.flatMap((entry) => (entry.type === 'tool' ? [entry.callId] : []));
  const asked = entries.flatMap((entry) =>
    entry.type === 'assistant' ? (entry.calls ?? []).map(({ id }) => id) : [],
  );
  same(`results of calls of ${sessionKey}`, calls.toSorted(), asked.toSorted());
}

/** Checks that the session's context contains no open work. */
export async function checkIdle(sessionKey: string, stored: Stored): Promise<void> {
  const context = (await stored.contextOf(addressOf(sessionKey))) as SessionContext;
  const { run, queue, folded, children, reports, awaited, waits, probed } = context;
  const open = { run, queue, folded, children, reports, awaited, waits, probed };
  same(`open work in ${sessionKey}`, open, { run: null, queue: [], folded: [] });
}
