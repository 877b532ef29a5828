/**
 * Reads a session for an export, and creates one from an import. Transcripts are read and written
 * in pages, so that the memory of both sides is bounded.
 */
import { type Static, Type } from '@sinclair/typebox';
import { address } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { ImportDone, SessionFacts, SessionImport } from '../../protocols/session-import.ts';
import { parseSessionKey } from '../../protocols/session-key.ts';
import type { SessionEntry, SessionRow } from '../../protocols/session.ts';
import type { System } from '../../runtime/index.ts';
import { askSession, type ChangingScope, notify } from './change-session.ts';
import { sessionRow } from './find-session.ts';
import { OwnTranscript } from './own-transcript.ts';
import { fullSessionKey } from './session-key.ts';

/** Of one page. A message to an actor has at most 4 MiB. */
export const PAGE = { entries: 200, bytes: 2 ** 20 };
const READ_MAX = 1_000;
/** How long entries of former pages are awaited (only where messages are relayed). */
const WAIT_MS = 10_000;
const POLL_MS = 20;

const Text = Type.Optional(Type.String());
const Flag = Type.Optional(Type.Boolean());

/** The facts of a session in `sessions.json`. Unknown fields are ignored. */
export const SessionFactsSchema = Type.Object({
  sessionId: Type.String({ minLength: 1, maxLength: 512 }),
  createdAt: Type.Number(),
  updatedAt: Type.Number(),
  usage: Type.Object({
    inputTokens: Type.Number(),
    outputTokens: Type.Number(),
    costUsd: Type.Optional(Type.Number()),
  }),
  model: Text,
  ownModel: Text,
  title: Text,
  lastMessage: Text,
  label: Text,
  channel: Text,
  contextTokens: Type.Optional(Type.Number()),
  forkedFrom: Type.Optional(Type.Object({ key: Type.String(), turn: Type.Integer() })),
  queue: Text,
  thinking: Text,
  verbose: Text,
  reasoning: Flag,
  archived: Flag,
  pinned: Flag,
  category: Text,
});

const FACTS = Object.keys(SessionFactsSchema.properties);

export type MovingScope = ChangingScope & { readonly system: Pick<System, 'transcripts'> };

export type TranscriptPage = {
  readonly key: string;
  readonly facts: SessionFacts;
  readonly isRunning: boolean;
  readonly entries: readonly { readonly position: number; readonly entry: SessionEntry }[];
  /** position from which the next page is read; absent: this is the last one */
  readonly next?: number;
};

/** @throws TroupeError NOT_FOUND */
export async function readTranscript(
  scope: MovingScope,
  { key, from = 1 }: { readonly key: string; readonly from?: number },
): Promise<TranscriptPage> {
  const row = sessionRow(scope, key);
  if (!row) throw new TroupeError('NOT_FOUND', `session ${key} does not exist`);
  const actor = address(scope.tenant, 'session', row.sessionKey);
  const read = await scope.system.transcripts.read(actor, { from, limit: PAGE.entries });
  const entries = fitting(read);
  const last = entries.at(-1);
  return {
    key: row.sessionKey,
    facts: factsOf(row),
    isRunning: row.status === 'running',
    entries: entries.map(({ position, entry }) => ({ position, entry: entry as SessionEntry })),
    ...(last ? { next: last.position + 1 } : {}),
  };
}

/** As many as one page has, at least one. */
function fitting<T extends { readonly entry: unknown }>(all: readonly T[]): readonly T[] {
  let bytes = 0;
  const end = all.findIndex((one, at) => {
    bytes += JSON.stringify(one.entry).length;
    return at > 0 && bytes > PAGE.bytes;
  });
  return end < 0 ? all : all.slice(0, end);
}

const factsOf = (row: SessionRow): SessionFacts => {
  const fields = FACTS.map((name) => [name, row[name as keyof SessionRow]]);
  return defined(Object.fromEntries(fields) as SessionFacts) as SessionFacts;
};

export type ImportPage = {
  readonly key: string;
  readonly facts: Static<typeof SessionFactsSchema>;
  readonly from: number;
  readonly entries: readonly unknown[];
  readonly isLast: boolean;
  readonly replace?: boolean;
};
export type Imported = ImportDone & { readonly key: string };

/**
 * Appends one page to a new session.
 * @throws TroupeError CONFLICT when another session has the key; INVALID_ARGUMENT for an agent that
 *   is not configured, or a subagent's key
 */
export async function importPage(scope: MovingScope, page: ImportPage): Promise<Imported> {
  const { system, tenant, names } = scope;
  // Exported sessions keep their keys: two that differ only in case stay two.
  const { sessionKey: key } = fullSessionKey(names, { sessionKey: page.key }, () => true);
  if (parseSessionKey(key).type === 'subagent')
    throw new TroupeError('INVALID_ARGUMENT', `${key} is of a subagent, which ends with its task`);
  const { from, isLast, replace } = page;
  const existing = system.index.get<SessionRow>('sessions', tenant, key);
  if (replace && from === 0 && existing && existing.sessionId !== page.facts.sessionId) {
    await askSession(scope, key, { type: 'session.close' });
    notify(scope, key, 'delete');
  }
  // Both were checked by the schemas of the operation.
  const facts = page.facts as SessionFacts;
  const entries = await positioned(scope, key, page, page.entries as readonly SessionEntry[]);
  const message: SessionImport = { type: 'session.import', facts, from, entries, isLast };
  const done = await askSession<ImportDone>(scope, key, message);
  if (isLast) notify(scope, key, 'import');
  return { key, ...done };
}

/** The entries, with the position that a compaction keeps in this session. */
async function positioned(
  { system, tenant }: MovingScope,
  key: string,
  { from, facts }: ImportPage,
  entries: readonly SessionEntry[],
): Promise<readonly SessionEntry[]> {
  const at = entries.findIndex(({ type }) => type === 'compaction');
  if (at > 0) throw new TroupeError('INVALID_ARGUMENT', '/entries: a compaction begins a page');
  const [first, ...others] = entries;
  if (first?.type !== 'compaction') return entries;
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const own = await ownTranscript(system, { tenant, key, sessionId: facts.sessionId });
    const keptFrom = own.positionOf(first.keptFrom) ?? own.positionOf(own.length);
    if (own.length >= from) return [{ ...first, keptFrom: keptFrom ?? 1 }, ...others];
    if (performance.now() > deadline)
      throw new TroupeError('UNAVAILABLE', `the former pages of ${key} are not readable yet`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function ownTranscript(
  { transcripts }: Pick<System, 'transcripts'>,
  { tenant, key, sessionId }: { tenant: string; key: string; sessionId: string },
): Promise<OwnTranscript> {
  const own = new OwnTranscript();
  const actor = address(tenant, 'session', key);
  for (let from = 1; ; ) {
    const page = await transcripts.read(actor, { from, limit: READ_MAX });
    const last = page.at(-1);
    if (!last) return own;
    for (const { position, entry } of page)
      own.read({ position, entry: entry as SessionEntry }, sessionId);
    from = last.position + 1;
  }
}
