/**
 * `troupe sessions import`: creates the sessions of an exported folder, page by page.
 *
 * Invariants: every line is checked before anything is created. A session that is there already,
 * or a part of one, is continued and never written twice, so an import may be repeated.
 */
import type { GatewayClient } from '../../client/gateway-client.ts';
import { join } from 'node:path';
import { sessionImport } from '../../operations/sessions.ts';
import { type Imported, PAGE } from '../../operations/sessions/move-session.ts';
import { defined } from '../../protocols/defined.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import { exitCodes } from '../exit.ts';
import { type TenantClientOptions, withGateway } from '../options.ts';
import { printJson } from '../output.ts';
import { type ShowProgress, withProgress } from '../progress.ts';
import { callOf } from './export-sessions.ts';
import { entriesIn, type ListedSession, readIndex } from './transcript-files.ts';

export type ImportOptions = TenantClientOptions & { readonly replace?: boolean };

type Send = (page: {
  readonly from: number;
  readonly entries: readonly SessionEntry[];
  readonly isLast: boolean;
}) => Promise<Imported>;

/**
 * Returns exit code 1 when sessions were left out.
 * @throws TroupeError INVALID_ARGUMENT for a malformed file, NOT_FOUND for a missing one
 */
export async function importSessions(folder: string, options: ImportOptions): Promise<number> {
  const index = await readIndex(folder);
  for (const [, session] of index) await checkFile(folder, session);
  const left: { readonly key: string; readonly reason: string }[] = [];
  let mayReplace = false;
  const write = async (client: GatewayClient, show: ShowProgress): Promise<void> => {
    const call = callOf(client, options);
    let begun = 0;
    for (const [key, { file, entries: count, ...facts }] of index) {
      show(`session ${(begun += 1)} of ${index.size}`);
      const replace = defined({ replace: options.replace });
      const send: Send = (page) =>
        call(sessionImport, { key, facts, ...page, entries: [...page.entries], ...replace });
      try {
        await importOne(entriesIn(join(folder, file)), count, send);
      } catch (error) {
        const { code, message } = errorData(error);
        if (code !== 'CONFLICT' && code !== 'INVALID_ARGUMENT') throw error;
        left.push({ key, reason: message });
        mayReplace ||= code === 'CONFLICT';
      }
    }
  };
  await withProgress(({ show }) => withGateway(options, (client) => write(client, show)));
  const sessions = index.size - left.length;
  if (options.json) printJson({ sessions, left });
  else process.stdout.write(`${sessions} sessions of ${folder} are imported\n`);
  for (const { key, reason } of left) process.stderr.write(`left out: ${key}: ${reason}\n`);
  if (mayReplace) process.stderr.write('Add --replace to delete sessions that have the keys.\n');
  return left.length > 0 ? exitCodes.failure : exitCodes.ok;
}

async function checkFile(folder: string, { file, entries }: ListedSession): Promise<void> {
  const path = join(folder, file);
  let found = 0;
  for await (const _ of entriesIn(path)) found++;
  if (found === entries) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${path} has ${found} lines, and sessions.json names ${entries}: export the session again`,
  );
}

/** Sends the entries in pages; the answer to a page says how many are stored already. */
export async function importOne(
  entries: AsyncIterable<SessionEntry>,
  count: number,
  send: Send,
): Promise<void> {
  let stored = 0;
  let read = 0;
  let page: SessionEntry[] = [];
  let bytes = 0;
  const flush = async () => {
    const isLast = read === count;
    if (read > stored || isLast) {
      const done = await send({ from: read - page.length, entries: page, isLast });
      stored = done.entries;
    }
    page = [];
    bytes = 0;
  };
  for await (const entry of entries) {
    const length = JSON.stringify(entry).length;
    const isFull = page.length === PAGE.entries || bytes + length > PAGE.bytes;
    if (page.length > 0 && (isFull || entry.type === 'compaction')) await flush();
    page.push(entry);
    bytes += length;
    read++;
  }
  await flush();
}
