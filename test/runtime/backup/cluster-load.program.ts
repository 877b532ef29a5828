/**
 * One process of a cluster, to be killed: a worker; a gateway that sends messages over several
 * shards, and prints the number of every accepted message and how long its acceptance took in
 * milliseconds; or one that backs up the cluster. Its argument is a `LoadProcess`
 * as JSON.
 */
import { join } from 'node:path';
import { createClusterBackup } from '../../../runtime/backup/cluster/create-cluster.ts';
import { openClusterSource } from '../../../runtime/backup/cluster/nats-source.ts';
import { createSystem, openNats, openStateCache } from '../../../runtime/index.ts';
import { puppetType } from '../system/puppet.ts';
import { puppet } from '../system/world.ts';
import { FIRST, LAST, type LoadProcess, MIDDLE } from './cluster-load.ts';

const OPEN_MAX = 8;
const spec = JSON.parse(process.argv[2] ?? '') as LoadProcess;
const { url, name, role, folder, env, shards } = spec;
if (role === 'backup') {
  const source = await openClusterSource({ servers: [url], name, env });
  process.stdout.write('begins\n');
  await createClusterBackup({
    source,
    config: { secrets: [], leftOut: [] },
    to: { folder },
    temporary: folder,
    program: 'test',
    async *files() {},
  });
  process.exit();
}
const ports = await openNats({
  servers: [url],
  name,
  env,
  shards,
  state: (cell) => openStateCache({ path: join(folder, name), cell, mapSizeBytes: 2 ** 26 }),
  onAlarm: () => {},
});
const cluster = { role, name, version: '0' } as const;
// Snapshots often, so that logs are trimmed while a backup reads them.
const limits = { snapshotEvery: 60 };
const system = await createSystem({ ...ports, ...limits, actors: [puppetType()], env, cluster });
if (role === 'worker') process.stdout.write('ready\n');
else await load();

/** Few at once, so that also a busy machine keeps up. */
async function load(): Promise<never> {
  const principal = { sub: 'ada', roles: ['user'] };
  let open = 0;
  for (let n = 0; ; n++) {
    while (open >= OPEN_MAX) await new Promise((resolve) => setTimeout(resolve, 5));
    const last = { to: puppet(LAST[n % LAST.length]!), event: { type: 'notify', n } };
    const event = { type: 'do', n, tells: [last], answer: 'never' };
    const middle = { to: puppet(MIDDLE[n % MIDDLE.length]!), event };
    const first = { type: 'do', n, tells: [middle], appends: [{ type: 'said', n }] };
    open++;
    const at = performance.now();
    void system
      .tell(
        puppet(FIRST[n % FIRST.length]!),
        { ...first, answer: 'never' },
        // A backup may be restored long after a message was accepted.
        { principal, key: `load-${n}`, ttlMs: 3_600_000 },
      )
      .then(({ kind }) => {
        if (kind === 'accepted') process.stdout.write(`${n} ${performance.now() - at}\n`);
      })
      .finally(() => open--);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
