/**
 * The layout of OpenClaw since 2026.7.2: one SQLite database per agent and one for the
 * installation. Needs `node:sqlite`, and for compressed events zstd (`compressed.ts`).
 *
 * Invariants: the databases are copied with their write-ahead logs, and only the copies are opened,
 * so nothing is written to OpenClaw's folder. Rows are read by column name; unknown tables with
 * rows are reported.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { decompressed, EVENT_BYTES_MAX } from './compressed.ts';
import { attempt, namesIn } from './files-layout.ts';
import { type Fields, fieldsOf, type Findings, numberOf, parsed, textOf } from './found.ts';
import { addAuthProfiles, environmentName } from './secrets.ts';
import { archivedEvents, coldEvents } from './stored-archives.ts';

type Row = Readonly<Record<string, unknown>>;
type Database = {
  prepare(sql: string): { all(...values: readonly unknown[]): readonly Row[] };
  close(): void;
};
/** In newer versions of Node than the types. */
type Sqlite = { DatabaseSync: new (path: string, options: { readOnly: boolean }) => Database };

const STATE = join('state', 'openclaw.sqlite');

/** The databases of a state folder: of the installation, and of agents by their ids. */
export function databasesIn(state: string): ReadonlyMap<string | undefined, string> {
  const paths = new Map<string | undefined, string>();
  if (existsSync(join(state, STATE))) paths.set(undefined, join(state, STATE));
  for (const agentId of namesIn(join(state, 'agents'))) {
    const path = join(state, 'agents', agentId, 'agent', 'openclaw-agent.sqlite');
    if (existsSync(path)) paths.set(agentId, path);
  }
  return paths;
}

/**
 * Returns what removes the copies; call it when every session is read.
 * @throws TroupeError INVALID_ARGUMENT when sessions are in databases and this Node is too old
 */
export async function readSqliteLayout(state: string, found: Findings): Promise<() => void> {
  const paths = databasesIn(state);
  if (paths.size === 0) return () => {};
  const sqlite = await loadSqlite();
  if (sqlite === undefined) {
    if (paths.size > 1 || !paths.has(undefined)) throw tooOld(process.versions.node);
    // Until 2026.7.1 only jobs and devices are in a database.
    found.warnings.push(
      `${join(state, STATE)} is not read: ${tooOld(process.versions.node).message}`,
    );
    const reason = 'schedules and devices are in it: it needs Node 22.15';
    found.leftOut.push({ kind: 'database', id: STATE, reason });
    return () => {};
  }
  found.layouts.add('sqlite');
  const folder = mkdtempSync(join(tmpdir(), 'troupe-openclaw-'));
  const open: Database[] = [];
  for (const [agentId, path] of paths) {
    attempt(found, 'database', path, () => {
      const database = openCopy(sqlite, path, folder, found);
      open.push(database);
      if (agentId === undefined) readState(database, found);
      else readAgent(database, { agentId, path, state, found });
    });
  }
  return () => {
    for (const database of open) database.close();
    rmSync(folder, { recursive: true, force: true });
  };
}

/** undefined: this Node is too old; before 22.13 the module needs a flag. */
async function loadSqlite(): Promise<Sqlite | undefined> {
  const name = 'node:sqlite';
  if (!isBuiltin(name)) return undefined;
  return (await import(name)) as Sqlite;
}

const tooOld = (version: string): TroupeError =>
  new TroupeError(
    'INVALID_ARGUMENT',
    `OpenClaw's SQLite databases need Node 22.15 or newer, and this is Node ${version}: install ` +
      'Node 22, or run this command once as `npx -p node@22 -p troupe troupe import openclaw`',
  );

function openCopy(
  { DatabaseSync }: Sqlite,
  path: string,
  folder: string,
  found: Findings,
): Database {
  const copy = join(folder, createHash('sha256').update(path).digest('hex').slice(0, 16));
  const log = `${path}-wal`;
  if (existsSync(log) && statSync(log).size > 0) {
    found.warnings.push(
      `${basename(path)} has a write-ahead log: OpenClaw runs, or was killed. What is stored now is ` +
        'read; stop OpenClaw and import again for the rest',
    );
    copyFileSync(log, `${copy}-wal`);
  }
  copyFileSync(path, copy);
  // Not read-only: the log of the copy is applied to it.
  const database = new DatabaseSync(copy, { readOnly: false });
  const [check] = database.prepare('PRAGMA quick_check(1)').all();
  const result = Object.values(check ?? {})[0];
  if (result === 'ok') return database;
  database.close();
  throw new Error(`${path} is damaged (${String(result)}), or changed while it was copied`);
}

function readState(database: Database, found: Findings): void {
  for (const row of rowsOf(database, 'cron_jobs', ['job_id'], found)) {
    const id = String(row['job_id']);
    attempt(found, 'schedule', id, () => {
      const job = fieldsOf(parsed(String(row['job_json']), `cron_jobs ${id}`));
      const agentId = job['agentId'] ?? row['agent_id'] ?? undefined;
      found.jobs.push({ id, job: { ...job, enabled: row['enabled'] === 1, agentId } });
    });
  }
  for (const row of rowsOf(database, 'device_pairing_paired', ['device_id', 'public_key'], found)) {
    const id = String(row['device_id']);
    attempt(found, 'device', id, () => {
      const list = (name: string) => parsed(textOf(row[name]) ?? '[]', `device ${id}`);
      const device = {
        publicKey: row['public_key'],
        displayName: row['operator_label'] ?? row['display_name'],
        platform: row['platform'],
        deviceFamily: row['device_family'],
        clientId: row['client_id'],
        clientMode: row['client_mode'],
        role: row['role'],
        roles: list('roles_json'),
        scopes: list('scopes_json'),
        approvedScopes: list('approved_scopes_json'),
        tokens: parsed(textOf(row['tokens_json']) ?? '{}', `device ${id}`),
      };
      found.devices.push({ id, device });
    });
  }
  for (const row of rowsOf(database, 'secret_store_entries', ['name', 'value'], found)) {
    const name = String(row['name']);
    const value = textOf(row['value']);
    if (value !== undefined && typeof row['deleted_at_ms'] !== 'number')
      found.secrets.push({ id: `store/${name}`, env: environmentName(name), value });
  }
  reportOthers(database, 'openclaw.sqlite', STATE_TABLES, found);
}

type AgentPlace = {
  readonly agentId: string;
  readonly path: string;
  readonly state: string;
  readonly found: Findings;
};
type Entry = { readonly entry: Fields; readonly newest: string };

function readAgent(database: Database, place: AgentPlace): void {
  const { agentId, path, found } = place;
  readWindows(database, place, entriesIn(database, place));
  readArchives(database, place);
  for (const row of rowsOf(database, 'auth_profile_store', ['store_json'], found))
    attempt(found, 'secret', `${agentId}/auth_profile_store`, () => {
      const store = parsed(String(row['store_json']), `${path} auth_profile_store`);
      addAuthProfiles(fieldsOf(store), agentId, found);
    });
  reportOthers(database, `${agentId}/openclaw-agent.sqlite`, AGENT_TABLES, found);
}

/** The sessions by their keys. */
function entriesIn(database: Database, { path, found }: AgentPlace): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  const nodes = rowsOf(database, 'session_nodes', ['session_key', 'current_session_id'], found);
  for (const row of nodes) {
    const key = String(row['session_key']);
    attempt(found, 'session', key, () => {
      const entry = fieldsOf(parsed(String(row['entry_json']), `${path} session_nodes ${key}`));
      const columns = {
        ...textFields(row, ['label', 'category']),
        ...(typeof row['archived_at'] === 'number' ? { archivedAt: row['archived_at'] } : {}),
        ...(typeof row['pinned_at'] === 'number' ? { pinnedAt: row['pinned_at'] } : {}),
      };
      entries.set(key, {
        entry: { ...entry, ...columns },
        newest: String(row['current_session_id']),
      });
    });
  }
  return entries;
}

/** Each window; the events of some are in cold storage. */
function readWindows(
  database: Database,
  { agentId, path, state, found }: AgentPlace,
  entries: ReadonlyMap<string, Entry>,
): void {
  const cold = new Map(
    rowsIfAny(database, COLD, ['session_id', 'archive_name', 'archive_sha256'], found).map(
      (row) => [String(row['session_id']), row] as const,
    ),
  );
  const folder = join(state, 'agents', agentId, 'sessions');
  for (const row of rowsOf(database, 'session_windows', ['session_id', 'session_key'], found)) {
    const key = String(row['session_key']);
    const sessionId = String(row['session_id']);
    const session = entries.get(key);
    if (session === undefined) continue;
    const place = `${path} transcript_events ${sessionId}`;
    const archive = cold.get(sessionId);
    const read = () =>
      archive ? coldEvents(archive, folder, state) : eventsOf(database, sessionId, place);
    const isNewest = session.newest === sessionId;
    found.sessions.push({ agentId, key, sessionId, entry: session.entry, isNewest, place, read });
  }
}

/** Transcripts before a reset. OpenClaw may have written a file of the same, which is left out. */
function readArchives(database: Database, { agentId, path, found }: AgentPlace): void {
  const needed = ['session_id', 'session_key', 'reason', 'archive_blob', 'archive_sha256'];
  for (const row of rowsIfAny(database, ARCHIVES, needed, found)) {
    const key = String(row['session_key']);
    const sessionId = String(row['session_id']);
    const place = `${path} ${ARCHIVES} ${sessionId}`;
    if (row['reason'] !== 'reset') {
      const reason = `it was ${String(row['reason'])} in OpenClaw`;
      found.leftOut.push({ kind: 'archive', id: `${key} ${sessionId}`, reason });
      continue;
    }
    const read = () => archivedEvents(row, place);
    found.sessions.push({ agentId, key, sessionId, entry: {}, isNewest: false, place, read });
  }
}

const textFields = (row: Row, names: readonly string[]): Fields =>
  Object.fromEntries(names.flatMap((name) => (textOf(row[name]) ? [[name, row[name]]] : [])));

function eventsOf(database: Database, sessionId: string, place: string) {
  const hash = createHash('sha256');
  const rows = database
    .prepare('SELECT * FROM transcript_events WHERE session_id = ? ORDER BY seq')
    .all(sessionId);
  const events = rows.map((row): Fields => {
    const at = `${place} seq ${String(row['seq'])}`;
    const text = textOf(row['event_json']) ?? compressedEvent(row, at);
    hash.update(text);
    return fieldsOf(parsed(text, at));
  });
  return { events, hash: hash.digest('hex') };
}

/** An event of over a few kilobytes, since 2026.9.6. */
function compressedEvent(row: Row, place: string): string {
  const data = row['event_zstd'];
  if (!(data instanceof Uint8Array)) throw new Error(`${place} has no content`);
  const bytes = numberOf(row['event_utf8_bytes']);
  const text = decompressed(data, place, Math.min(bytes ?? EVENT_BYTES_MAX, EVENT_BYTES_MAX));
  if (bytes === undefined || Buffer.byteLength(text) === bytes) return text;
  throw new Error(`${place} has ${Buffer.byteLength(text)} bytes instead of ${bytes}`);
}

/** The rows of a table; none, and a report, when it or a needed column is missing. */
function rowsOf(
  database: Database,
  table: string,
  needed: readonly string[],
  { leftOut }: Findings,
): readonly Row[] {
  const columns = database.prepare(`PRAGMA table_info("${table}")`).all();
  const names = new Set(columns.map(({ name }) => name));
  const missing = needed.filter((name) => !names.has(name));
  if (missing.length === 0) return database.prepare(`SELECT * FROM "${table}"`).all();
  const reason =
    columns.length === 0 ? 'there is no such table' : `it has no column ${missing.join(', ')}`;
  leftOut.push({ kind: 'table', id: table, reason });
  return [];
}

/** For tables that only some versions have. */
function rowsIfAny(...[database, table, needed, found]: Parameters<typeof rowsOf>) {
  const tables = database.prepare('SELECT name FROM sqlite_schema WHERE name = ?').all(table);
  return tables.length === 0 ? [] : rowsOf(database, table, needed, found);
}

const COLD = 'session_transcript_cold_archives';
const ARCHIVES = 'session_transcript_archives';
/** Read here, or caches and logs that a program makes again. */
const AGENT_TABLES =
  /^(session_nodes|session_windows|transcript_|session_transcript_|auth_profile_store|schema_meta|sqlite_|session_(participants|key_contract|canonical|conversations)|.*_fts|memory_|trajectory_|cache_)/;
const STATE_TABLES =
  /^(cron_jobs|device_pairing_paired|device_identities|device_auth_tokens|workspace_|secret_store_entries|schema_meta|sqlite_|config_|diagnostic_|audit_|state_leases|gateway_|agent_database|task_|migration_|worker_)/;

function reportOthers(
  database: Database,
  name: string,
  known: RegExp,
  { leftOut }: Findings,
): void {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  for (const table of tables.map((row) => String(row['name'])).filter((one) => !known.test(one))) {
    const [count] = database.prepare(`SELECT count(*) AS n FROM "${table}"`).all();
    const rows = Number(count?.['n'] ?? 0);
    if (rows > 0)
      leftOut.push({
        kind: 'table',
        id: `${name} ${table}`,
        reason: `${rows} rows of a table that is not imported`,
      });
  }
}
