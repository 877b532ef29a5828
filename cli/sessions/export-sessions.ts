/**
 * `troupe sessions export`: writes sessions to a folder (transcript-files.ts), page by page.
 *
 * Invariants: a file appears under its name when it is complete; `sessions.json` appears last. A
 * run that has not ended is not exported, because no other installation could end it.
 */
import { type FileHandle, open, rename, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Static, TObject, TSchema } from '@sinclair/typebox';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { listActors } from '../../operations/actors.ts';
import type { Operation } from '../../operations/operation.ts';
import { sessionTranscript } from '../../operations/sessions.ts';
import type { TranscriptPage } from '../../operations/sessions/move-session.ts';
import { OwnTranscript } from '../../operations/sessions/own-transcript.ts';
import { parseAddress } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { parseSessionKey } from '../../protocols/session-key.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import { makeFolder } from '../../runtime/make-folder.ts';
import { exitCodes } from '../exit.ts';
import { type TenantClientOptions, withGateway } from '../options.ts';
import { printJson } from '../output.ts';
import { type ShowProgress, withProgress } from '../progress.ts';
import { fileOf, INDEX_FILE, type ListedSession } from './transcript-files.ts';

export type ExportOptions = TenantClientOptions & {
  readonly out: string;
  readonly force?: boolean;
};

type Call = <P extends TObject, R extends TSchema>(
  operation: Operation<P, R>,
  params: Static<P>,
) => Promise<Static<R>>;

/** Calls operations over one connection. */
export const callOf =
  (client: GatewayClient, { tenant }: TenantClientOptions): Call =>
  ({ name }, params) =>
    client.request('operations.run', { name, params, ...defined({ tenant }) });

/** @throws TroupeError CONFLICT for a folder that has an export; NOT_FOUND for a named session */
export async function exportSessions(
  keys: readonly string[],
  options: ExportOptions,
): Promise<number> {
  const { out, force = false } = options;
  const index = join(out, INDEX_FILE);
  if (existsSync(index) && !force)
    throw new TroupeError('CONFLICT', `${index} exists: choose another folder, or add --force`);
  makeFolder(out, 0o777);
  const write = async (client: GatewayClient, show: ShowProgress) => {
    const call = callOf(client, options);
    const sessions: [string, ListedSession][] = [];
    const named = keys.length > 0 ? keys : allKeys(call);
    for await (const key of named) {
      show(`session ${sessions.length + 1}${keys.length > 0 ? ` of ${keys.length}` : ''}`);
      const session = await exportOne(call, key, out);
      if (session) sessions.push(session);
      else if (keys.length > 0) throw new TroupeError('NOT_FOUND', `session ${key} does not exist`);
    }
    return sessions.toSorted(([a], [b]) => (a < b ? -1 : 1));
  };
  const listed = await withProgress(({ show }) =>
    withGateway(options, (client) => write(client, show)),
  );
  await writeWhole(index, `${JSON.stringify(Object.fromEntries(listed), null, 2)}\n`);
  const entries = listed.reduce((sum, [, one]) => sum + one.entries, 0);
  if (options.json) printJson({ sessions: listed.length, entries, folder: out });
  else process.stdout.write(`${listed.length} sessions with ${entries} entries in ${out}\n`);
  return exitCodes.ok;
}

/** All sessions but those of subagents, which end with their tasks. */
async function* allKeys(call: Call): AsyncGenerator<string> {
  for (let after: string | undefined; ; ) {
    const { actors } = await call(listActors, { type: 'session', ...defined({ after }) });
    for (const { actor } of actors) {
      const { key } = parseAddress(actor);
      if (parseSessionKey(key).type !== 'subagent') yield key;
    }
    after = actors.at(-1)?.actor;
    if (after === undefined) return;
  }
}

/** Undefined when there is no such session. */
async function exportOne(
  call: Call,
  named: string,
  folder: string,
): Promise<[string, ListedSession] | undefined> {
  const first = await pageOf(call, named, 1);
  if (!first) return undefined;
  const { key, facts } = first;
  const file = fileOf(key, facts.sessionId);
  const writer = new TranscriptWriter(await open(join(folder, `${file}.part`), 'w'));
  try {
    for (let page: TranscriptPage | undefined = first; page; ) {
      for (const one of page.entries) writer.add(one, facts.sessionId);
      await writer.flush();
      page = page.next === undefined ? undefined : await pageOf(call, key, page.next);
    }
    await writer.end();
  } finally {
    await writer.close();
  }
  await rename(join(folder, `${file}.part`), join(folder, file));
  if (writer.hasOpenRun) process.stderr.write(`${key}: its run has not ended and is left out\n`);
  return [key, { ...facts, file, entries: writer.entries }];
}

async function pageOf(call: Call, key: string, from: number): Promise<TranscriptPage | undefined> {
  try {
    return await call(sessionTranscript, { key, from });
  } catch (error) {
    if (errorData(error).code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

/** Writes the lines of one session; knows where the last complete run ends. */
class TranscriptWriter {
  readonly #file: FileHandle;
  readonly #own = new OwnTranscript();
  #lines = '';
  #bytes = 0;
  #run = '';
  #complete = { bytes: 0, entries: 0 };

  constructor(file: FileHandle) {
    this.#file = file;
  }

  get entries(): number {
    return this.#complete.entries;
  }
  get hasOpenRun(): boolean {
    return this.#run !== '';
  }

  add(one: TranscriptPage['entries'][number], sessionId: string): void {
    const entry = this.#own.read(one, sessionId);
    if (entry === undefined) return;
    if (entry === 'deleted') return this.#restart();
    const line = `${JSON.stringify(entry)}\n`;
    this.#lines += line;
    this.#bytes += Buffer.byteLength(line);
    this.#follow(entry);
    if (this.#run === '') this.#complete = { bytes: this.#bytes, entries: this.#own.length };
  }

  #follow({ type, runId }: SessionEntry): void {
    if (type === 'run.end') this.#run = runId === this.#run ? '' : this.#run;
    else if (type === 'user' && this.#run === '') this.#run = runId;
  }

  #restart(): void {
    this.#lines = '';
    this.#bytes = 0;
    this.#run = '';
    this.#complete = { bytes: 0, entries: 0 };
    this.#written = 0;
  }

  #written = 0;

  async flush(): Promise<void> {
    const bytes = Buffer.from(this.#lines);
    await this.#file.write(bytes, 0, bytes.length, this.#written);
    this.#written += bytes.length;
    this.#lines = '';
  }

  async end(): Promise<void> {
    await this.#file.truncate(this.#complete.bytes);
    await this.#file.sync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.part`, text);
  await rename(`${path}.part`, path);
}
