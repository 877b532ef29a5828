/**
 * One worker of supervision.test.ts in a separate process. Its argument is a SupervisionWorker as
 * JSON. It prints `ready` when it accepts shards.
 */
import { join } from 'node:path';
import { shopActors } from '../../examples/supervisor/shop.ts';
import { ROOT } from '../../protocols/supervision.ts';
import { createSystem, openNats, openStateCache } from '../../runtime/index.ts';

export type SupervisionWorker = {
  readonly url: string;
  readonly name: string;
  readonly folder: string;
  readonly env: string;
  readonly shards: number;
};

const spec = JSON.parse(process.argv[2] ?? '') as SupervisionWorker;
const { url, name, folder, env, shards } = spec;
const ports = await openNats({
  servers: [url],
  name,
  env,
  shards,
  state: (cell) => openStateCache({ path: join(folder, name), cell, mapSizeBytes: 2 ** 26 }),
  onAlarm: () => {},
});
const cluster = { role: 'worker', name, version: '0' } as const;
await createSystem({ ...ports, actors: shopActors, env, supervisor: ROOT, cluster });
process.stdout.write('ready\n');
