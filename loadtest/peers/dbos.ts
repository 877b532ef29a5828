/**
 * DBOS on PostgreSQL. An ask is a workflow, which DBOS stores before it runs; its only step adds to
 * a row of a table and returns the value; DBOS stores the step's result and the workflow's, and the
 * caller receives it.
 *
 * Configuration: PostgreSQL with `fsync=off`, so that a commit is written to the file and not
 * synced, as with the others; `synchronous_commit` stays on, because without it a commit is
 * acknowledged before it is written at all. `shared_buffers=256MB`. Pools of 64 connections for the
 * workflows and for the step, so that 64 asks never wait for one. Logs of DBOS: errors only.
 */
import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { COUNTERS, loaded, type PeerDriver } from './peer.ts';
import { freePort, postgresFolders, programOf, startServer } from './server.ts';

type Workflow = (counter: number) => Promise<number>;
type Dbos = {
  readonly DBOS: {
    setConfig(config: object): void;
    launch(): Promise<void>;
    shutdown(): Promise<void>;
    registerWorkflow(work: Workflow, config: { name: string }): Workflow;
    runStep<T>(step: () => Promise<T>, config: { name: string }): Promise<T>;
  };
};
type Pool = {
  query(text: string, values?: unknown[]): Promise<{ rows: { n: number }[] }>;
  on(event: 'error', listener: () => void): unknown;
  end(): Promise<void>;
};
type Pg = { Pool: new (options: object) => Pool };

const CONNECTIONS_MAX = 200;
/** PostgreSQL refuses to run as root; this user of Debian and others has no rights. */
const UNPRIVILEGED = { uid: 65_534, gid: 65_534 };

export const dbos: PeerDriver = {
  name: 'dbos',
  needs: { packages: ['@dbos-inc/dbos-sdk', 'pg'], program: 'postgres' },
  guarantee:
    'a workflow of a killed process continues; its step runs again if its result was not stored, so the counter may count it twice',
  async start({ folder, data }) {
    const { DBOS } = loaded<Dbos>(folder, '@dbos-inc/dbos-sdk');
    const { Pool } = loaded<Pg>(folder, 'pg');
    const { server, url } = await startPostgres(data);
    const pool = new Pool({ connectionString: url, max: COUNTERS });
    // An idle connection ends with the server.
    pool.on('error', () => {});
    await pool.query('CREATE TABLE counters (id int PRIMARY KEY, n int NOT NULL)');
    await pool.query('INSERT INTO counters SELECT i, 0 FROM generate_series(0, $1) i', [
      COUNTERS - 1,
    ]);
    DBOS.setConfig({
      name: 'counters',
      systemDatabaseUrl: url,
      systemDatabasePoolSize: COUNTERS,
      logLevel: 'error',
      runAdminServer: false,
    });
    const step = async (counter: number) => {
      const sql = 'UPDATE counters SET n = n + 1 WHERE id = $1 RETURNING n';
      return (await pool.query(sql, [counter])).rows[0]!.n;
    };
    const workflow = DBOS.registerWorkflow(
      (counter) => DBOS.runStep(() => step(counter), { name: 'add' }),
      { name: 'add' },
    );
    await DBOS.launch();
    return {
      server: server.pid,
      add: (counter) => workflow(counter),
      async stop() {
        await DBOS.shutdown();
        await pool.end();
        await server.stop();
      },
    };
  },
};

async function startPostgres(data: string) {
  const folders = postgresFolders();
  const user = process.getuid?.() === 0 ? UNPRIVILEGED : undefined;
  const cluster = join(data, 'postgres');
  mkdirSync(cluster, { mode: 0o700 });
  if (user) for (const folder of [data, cluster]) chownSync(folder, user.uid, user.gid);
  const initdb = ['-D', cluster, '-U', 'troupe', '-A', 'trust', '--no-sync', '-E', 'UTF8'];
  const made = spawnSync(programOf('initdb', folders), initdb, { ...user, encoding: 'utf8' });
  if (made.status !== 0)
    throw new TroupeError('UNAVAILABLE', `initdb failed: ${made.stderr.trim().slice(-500)}`);
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    shared_buffers: '256MB',
    max_connections: String(CONNECTIONS_MAX),
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const args = ['-D', cluster, '-p', String(port), ...options];
  const server = await startServer(programOf('postgres', folders), args, port, user);
  return { server, url: `postgresql://troupe@127.0.0.1:${port}/postgres` };
}
