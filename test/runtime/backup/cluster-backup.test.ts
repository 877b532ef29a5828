/** Backups of a cluster of processes under load. `TROUPE_CUTS=100` sets the number of cuts. */
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  type ClusterBackupOptions,
  createClusterBackup,
} from '../../../runtime/backup/cluster/create-cluster.ts';
import { openClusterSource } from '../../../runtime/backup/cluster/cluster-source.ts';
import { restoreBackup } from '../../../runtime/backup/restore.ts';
import { verifyBackup } from '../../../runtime/backup/verify.ts';
import { createSystem, openEmbedded, openNats, openStateCache } from '../../../runtime/index.ts';
import { openNatsTarget } from '../../../runtime/transfer/nats-target.ts';
import { type NatsServer, natsServers, startNats } from '../../servers/nats.ts';
import { eventually } from '../eventually.ts';
import { bundle, type Child, type Program } from '../log/child.ts';
import { puppetType } from '../system/puppet.ts';
import { accountFor, type LoadProcess } from './cluster-load.ts';

const CUTS = Number(process.env['TROUPE_CUTS'] ?? 20);
const ENV = 'load';
const SHARDS = 8;
const WORKERS = ['ann', 'bob', 'cleo'];
const server = natsServers().at(-1);
const none = { secrets: [], leftOut: [] };

describe.skipIf(!server)('backups of a cluster under load', () => {
  let program: Program;
  let nats: NatsServer;
  let folder: string;
  const children = new Map<string, Child>();

  const startOne = (name: string, role: LoadProcess['role']): Child => {
    const spec: LoadProcess = { url: nats.url, name, role, folder, env: ENV, shards: SHARDS };
    const child = program.start([JSON.stringify(spec)]);
    children.set(name, child);
    return child;
  };
  const says = (child: Child, lines: number) =>
    eventually(() => {
      if (child.lines().length < lines) throw new Error(`it printed too little: ${child.stderr()}`);
    });
  const accepted = () => children.get('gate')!.lines().map(Number);

  beforeAll(async () => {
    program = await bundle(join(import.meta.dirname, 'cluster-load.program.ts'));
    nats = await startNats({ path: server!.path });
    folder = await mkdtemp(join(tmpdir(), 'troupe-cluster-backup-'));
    await Promise.all(WORKERS.map((name) => says(startOne(name, 'worker'), 1)));
    await says(startOne('gate', 'gateway'), 300);
  }, 90_000);
  afterAll(async () => {
    for (const { process } of children.values()) process.kill('SIGKILL');
    await Promise.all([...children.values()].map(({ ended }) => ended));
    await nats.stop();
    await program.remove();
    await rm(folder, { recursive: true, force: true });
  });

  async function backUp(more: Partial<ClusterBackupOptions> = {}) {
    const source = await openClusterSource({ servers: [nats.url], name: 'backup', env: ENV });
    try {
      return await createClusterBackup({
        source,
        config: none,
        to: { folder: join(folder, 'backups') },
        program: 'test',
        async *files() {},
        ...more,
      });
    } finally {
      await source.close();
    }
  }

  async function scratch(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'troupe-cluster-backup-'));
    onTestFinished(() => rm(path, { recursive: true, force: true }));
    return path;
  }

  /** Numbers that a restored backup contains, each once. */
  async function restoredNumbers(from: string): Promise<readonly number[]> {
    const into = join(await scratch(), 'restored');
    await restoreBackup({ from, into });
    const system = await createSystem({
      actors: [puppetType()],
      ...(await openEmbedded({ path: join(into, 'store') })),
    });
    try {
      return await accountFor(system);
    } finally {
      await system.stop();
    }
  }

  it(`${CUTS} cuts at random moments, with kills, lose and double nothing`, {
    timeout: 120_000 + CUTS * 10_000,
  }, async () => {
    const cuts: { readonly path: string; readonly before: readonly number[] }[] = [];
    for (let cut = 0; cut < CUTS; cut++) {
      await pause(Math.random() * 200);
      const before = accepted();
      const isKilled = cut % 5 === 2;
      const name = WORKERS[cut % WORKERS.length]!;
      const making = backUp();
      if (isKilled) {
        children.get(name)!.process.kill('SIGKILL');
        await children.get(name)!.ended;
      }
      const made = await making;
      console.log(made.cutMs, made.entries, accepted().length);
      cuts.push({ path: made.path, before });
      if (isKilled) startOne(name, 'worker');
    }
    for (const { path, before } of cuts) {
      const numbers = await restoredNumbers(path);
      const found = new Set(numbers);
      expect(before.filter((n) => !found.has(n))).toEqual([]);
    }
  });
});
