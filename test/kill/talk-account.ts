/**
 * The account of trees and exchanges after kills, from transcripts, rows and what sessions keep:
 * each task begun once, each result read once, each turn begun once, each exchange announced once,
 * books whole, nothing left behind.
 */
import { expect } from 'vitest';
import type { SessionContext } from '../../actors/session/types.ts';
import type { ConversationRow } from '../../protocols/conversation.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import type { SubagentOutcome, SubagentRow } from '../../protocols/subagent.ts';
import {
  addressOf,
  requesterOf,
  rootOf,
  type Rows,
  talkOf,
  targetOf,
  TREE_LIMITS,
} from './held-talk.ts';
import type { Stored } from './stored.ts';
import { REPORT_READ } from './talk-model.ts';
import { CHILDREN, TALKS, TREES, TURNS } from './talk-parts.ts';

/** How each may end; default completed. */
const OUTCOMES: Readonly<Record<string, readonly SubagentOutcome[]>> = {
  'late-1': ['timedOut'],
  'doomed-1': ['killed'],
};
/** What it says to its parent; default `done LABEL`. */
const FINDINGS: Readonly<Record<string, string>> = {
  'free-1': REPORT_READ,
  'late-1': '',
  'doomed-1': '',
};

type Entries = readonly SessionEntry[];
type EntriesOf = (sessionKey: string) => Promise<Entries>;

/** @param suffixes of all that was begun */
export async function account(
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
  accountOfRows(rows);
  for (const row of rows.subagents) await accountOfSubagent(row, entriesOf);
  for (const row of rows.conversations) await accountOfTalk(row, entriesOf);
  for (const tree of Object.keys(TREES) as (keyof typeof TREES)[])
    for (const suffix of suffixes) await accountOfTree(tree, rootOf(tree, suffix), rows, stored);
  const talked = suffixes.flatMap((suffix) =>
    TALKS.map((talk) => [requesterOf(talk, suffix), targetOf(talk, suffix)]),
  );
  const exchanges = rows.conversations.map(({ requester, target }) => [requester, target]);
  same('exchanges', exchanges.toSorted(), talked.toSorted());
  for (const [key, entries] of known) {
    accountOfSession(key, entries);
    await atRest(key, stored);
  }
}

const same = (about: string, found: unknown, wanted: unknown): void =>
  expect({ about, found }).toEqual({ about, found: wanted });

/** Nothing goes on, nothing is late, nothing was too much for anybody. */
export function accountOfRows({ census, deadLetters, conversations }: Rows): void {
  const { open, unreported, overdue } = census;
  same('census', { open, unreported, overdue }, { open: [], unreported: 0, overdue: 0 });
  same('dead letters', deadLetters, []);
  const ended = conversations.filter(({ status }) => status !== 'ended');
  same('exchanges that go on', ended, []);
}

// ---- subagents

async function accountOfSubagent(row: SubagentRow, entriesOf: EntriesOf): Promise<void> {
  const { id, label = '', parent, sessionKey, status, runId } = row;
  const about = `${label} (${id}) of ${parent}`;
  expect(OUTCOMES[label] ?? ['completed'], `end of ${about}`).toContain(status);
  expect(row.reported, `how ${about} was heard`).toMatch(/^(steer|followup|collect|waited)$/);
  const own = await entriesOf(sessionKey);
  same(`tasks of ${about}`, own.filter(isUserOf(runId)).length, 1);
  const told = tellingOf(id, await entriesOf(parent));
  same(`times that ${about} was told`, told.length, 1);
  expect(told[0], `findings of ${about}`).toContain(FINDINGS[label] ?? `done ${label}`);
}

/** The texts that tell of its end: results of calls that waited, and reports. */
export function tellingOf(id: string, entries: Entries): readonly string[] {
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

/** Who has been started, by whom, and that the books have all of the grants again. */
async function accountOfTree(
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
    `books of ${root}`,
    { spawns, tokens, spawned: books!.below.spawned },
    {
      spawns: TREE_LIMITS.spawns - mine.length,
      tokens: TREE_LIMITS.tokens - used.inputTokens - used.outputTokens,
      spawned: mine.length,
    },
  );
}

// ---- exchanges

async function accountOfTalk(row: ConversationRow, entriesOf: EntriesOf): Promise<void> {
  const { id, requester, target, turns } = row;
  const about = `exchange of ${requester}`;
  const asked = turns.map(({ turn, status }) => ({ turn, status }));
  const wanted = TURNS[talkOf(requester)].map((turn) => ({ turn, status: 'ok' }));
  same(about, asked, wanted);
  for (const { runId, sessionKey } of turns) {
    const entries = await entriesOf(sessionKey);
    same(`${runId} in ${sessionKey}`, entries.filter(isUserOf(runId)).length, 1);
  }
  const told = (await entriesOf(target)).filter(
    ({ type, runId }) => type === 'assistant' && runId === `talk-${id}-announce`,
  );
  same(`announcements of the ${about}`, told.length, 1);
  const results = (await entriesOf(requester)).filter(
    (entry) => entry.type === 'tool' && entry.name === 'sessions_send',
  );
  expect(results, `results of the ${about}`).toHaveLength(1);
  expect(results[0], `result of the ${about}`).toMatchObject({ isError: false });
}

// ---- sessions

/** Each message is there once; each run has one end, and its answer once. */
function accountOfSession(sessionKey: string, entries: Entries): void {
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

/** It keeps nothing of what is over. */
export async function atRest(sessionKey: string, stored: Stored): Promise<void> {
  const context = (await stored.contextOf(addressOf(sessionKey))) as SessionContext;
  const { run, queue, folded, children, reports, awaited, waits, probed } = context;
  const open = { run, queue, folded, children, reports, awaited, waits, probed };
  same(`what goes on in ${sessionKey}`, open, { run: null, queue: [], folded: [] });
}
