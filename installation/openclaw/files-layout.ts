/**
 * The layout of OpenClaw until 2026.7.1: sessions, jobs, devices and credentials as files. Parts of
 * it remain beside the layout of SQLite; what is in both is read from SQLite.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { ARCHIVE_BYTES_MAX, decompressed } from './compressed.ts';
import { type Fields, fieldsOf, type Findings, isFields, listOf, parsed, textOf } from './found.ts';
import { addAuthProfiles } from './secrets.ts';

const LINE_BREAK = '\n';

export function readFilesLayout(state: string, found: Findings): void {
  for (const agentId of namesIn(join(state, 'agents'))) {
    readSessions(join(state, 'agents', agentId, 'sessions'), agentId, { state, found });
    const profiles = join(state, 'agents', agentId, 'agent', 'auth-profiles.json');
    attempt(found, 'secret', profiles, () => {
      const store = jsonIn(profiles, state);
      if (store !== undefined) addAuthProfiles(fieldsOf(store), agentId, found);
    });
  }
  readJobs(state, found);
  readDevices(state, found);
}

type Reading = { readonly state: string; readonly found: Findings };

function readSessions(folder: string, agentId: string, { state, found }: Reading): void {
  const index = join(folder, 'sessions.json');
  const named = new Set<string>();
  attempt(found, 'session', index, () => {
    const sessions = jsonIn(index, state);
    if (sessions === undefined) return;
    found.layouts.add('files');
    if (!isFields(sessions)) throw new Error(`${index} is not an object`);
    for (const [key, value] of Object.entries(sessions)) {
      const entry = fieldsOf(value);
      const sessionId = textOf(entry['sessionId']);
      if (sessionId === undefined) {
        const reason = `${index} has no sessionId for it`;
        found.leftOut.push({ kind: 'session', id: key, reason, isDamaged: true });
        continue;
      }
      named.add(sessionId);
      const place = join(folder, fileNameOf(entry, sessionId));
      const session = { agentId, key, sessionId, entry, isNewest: true, place };
      found.sessions.push({ ...session, read: reader(place, state) });
    }
  });
  readArchives(folder, agentId, named, { state, found });
}

/** The entry may name another file, for topics; its folder may be that of another machine. */
function fileNameOf(entry: Fields, sessionId: string): string {
  const name = textOf(entry['sessionFile'])?.split(/[\\/]/).at(-1);
  return name?.endsWith('.jsonl') ? name : `${sessionId}.jsonl`;
}

const ARCHIVE = /^(?<id>.+)\.jsonl\.(?<reason>reset|deleted|bak)\.[^/]+$/;

/** Transcripts before a reset, and files that no session names. */
function readArchives(
  folder: string,
  agentId: string,
  named: ReadonlySet<string>,
  { state, found }: Reading,
): void {
  for (const name of namesIn(folder)) {
    const { id, reason } = ARCHIVE.exec(name)?.groups ?? {};
    const place = join(folder, name);
    if (name.endsWith('.lock')) {
      found.warnings.push(`${place} exists: OpenClaw seems to run. Stop it, and import again`);
      continue;
    }
    const sessionId = id ?? /^(.+)(?<!\.trajectory)\.jsonl$/.exec(name)?.[1];
    if (sessionId === undefined || (id === undefined && named.has(sessionId))) continue;
    const isTopic = /-topic-/.test(sessionId);
    if (reason === 'reset' || (id === undefined && !isTopic)) {
      const key = `agent:${agentId}:${sessionId}`;
      const archive = { agentId, key, sessionId, entry: {}, isNewest: false, place };
      found.sessions.push({ ...archive, read: reader(place, state) });
    } else if (id !== undefined) {
      found.leftOut.push({ kind: 'archive', id: place, reason: `it was ${reason} in OpenClaw` });
    }
  }
}

export type Events = { readonly events: readonly Fields[]; readonly hash: string };

/** @throws NeedsNewerNode; Error that names the line */
const reader = (place: string, state: string) => (): Events => {
  const data = bytesIn(place, state);
  if (data === undefined) throw new Error(`${place} is missing`);
  const isZstd = place.endsWith('.zst');
  return eventsOf(isZstd ? decompressed(data, place, ARCHIVE_BYTES_MAX) : String(data), place);
};

/** The events of JSON lines. @throws Error that names the line */
export function eventsOf(text: string, place: string): Events {
  const hash = createHash('sha256').update(text).digest('hex');
  const events = text.split(LINE_BREAK).flatMap((line, n) => {
    if (line.trim() === '') return [];
    const event = parsed(line, `${place}:${n + 1}`);
    if (!isFields(event)) throw new Error(`${place}:${n + 1} is not an object`);
    return [event];
  });
  return { events, hash };
}

function readJobs(state: string, found: Findings): void {
  const file = join(state, 'cron', 'jobs.json');
  attempt(found, 'schedule', file, () => {
    const store = jsonIn(file, state);
    if (store === undefined) return;
    const jobs = Array.isArray(store) ? store : listOf(fieldsOf(store)['jobs']);
    for (const job of jobs.filter(isFields))
      found.jobs.push({ id: textOf(job['id']) ?? textOf(job['jobId']) ?? 'job', job });
  });
}

function readDevices(state: string, found: Findings): void {
  const file = join(state, 'devices', 'paired.json');
  attempt(found, 'device', file, () => {
    const devices = jsonIn(file, state);
    if (devices === undefined) return;
    for (const [id, device] of Object.entries(fieldsOf(devices)))
      if (isFields(device)) found.devices.push({ id, device });
  });
}

/** Names a file that cannot be read, and continues with the others. */
export function attempt(found: Findings, kind: string, id: string, read: () => void): void {
  try {
    read();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    found.leftOut.push({ kind, id, reason, isDamaged: true });
  }
}

export const namesIn = (folder: string): readonly string[] =>
  existsSync(folder) ? readdirSync(folder).toSorted() : [];

/**
 * undefined when there is no file.
 * @throws Error when it cannot be read, is no file (as a pipe), or is outside `state`: its name or
 *   a link leads out of it
 */
export function bytesIn(file: string, state: string): Buffer | undefined {
  if (!existsSync(file)) return undefined;
  const path = relative(realpathSync(state), realpathSync(file));
  if (path.split(/[\\/]/, 1)[0] === '..' || isAbsolute(path))
    throw new Error(`${file} is outside ${state}`);
  if (!statSync(file).isFile()) throw new Error(`${file} is not a file`);
  return readFileSync(file);
}

/** @throws Error as `bytesIn` */
export const textIn = (file: string, state: string): string | undefined =>
  bytesIn(file, state)?.toString('utf8');

const jsonIn = (file: string, state: string): unknown => {
  const text = textIn(file, state);
  return text === undefined ? undefined : parsed(text, file);
};
