/** Backups of a cluster of processes under load. `TROUPE_CUTS=100` sets the number of cuts. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  type ClusterBackupOptions,
  createClusterBackup,
} from '../../../runtime/backup/cluster/create-cluster.ts';
import { openClusterSource } from '../../../runtime/backup/cluster/nats-source.ts';
import { restoreBackup } from '../../../runtime/backup/restore.ts';
import { listBackups } from '../../../runtime/backup/folder.ts';
import { verifyBackup } from '../../../runtime/backup/verify.ts';
import { createSystem, openEmbedded, openNats, openStateCache } from '../../../runtime/index.ts';
import { newRecipientKeys } from '../../../runtime/secrets/recipient.ts';
import { openNatsTarget } from '../../../runtime/transfer/nats-target.ts';
import { type NatsServer, natsServers, startNats } from '../../servers/nats.ts';
import { eventually } from '../eventually.ts';
import { bundle, type Child, type Program } from '../log/child.ts';
import { type Known, puppetType } from '../system/puppet.ts';
import { puppet } from '../system/world.ts';
import { accountFor, FIRST, type LoadProcess } from './cluster-load.ts';

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
    const child = startIn(folder, name, role);
    children.set(name, child);
    return child;
  };
  const startIn = (path: string, name: string, role: LoadProcess['role']): Child => {
    const spec = { url: nats.url, name, role, folder: path, env: ENV, shards: SHARDS };
    return program.start([JSON.stringify(spec satisfies LoadProcess)]);
  };
  const says = (child: Child, lines: number) =>
    eventually(() => {
      if (child.lines().length < lines) throw new Error(`it printed too little: ${child.stderr()}`);
    });
  const accepted = () => children.get('gate')!.lines().map(Number.parseFloat);

  beforeAll(async () => {
    program = await bundle(join(import.meta.dirname, 'cluster-load.program.ts'));
    nats = await startNats({ path: server!.path });
    folder = await mkdtemp(join(tmpdir(), 'troupe-cluster-backup-'));
    await Promise.all(WORKERS.map((name) => says(startOne(name, 'worker'), 1)));
    await says(startOne('gate', 'gateway'), 100);
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

  /** Numbers that a restored backup contains, each once; at least the accepted ones. */
  async function restoredNumbers(
    from: string,
    numbers: readonly number[],
  ): Promise<readonly number[]> {
    const into = join(await scratch(), 'restored');
    await restoreBackup({ from, into });
    const system = await createSystem({
      actors: [puppetType()],
      ...(await openEmbedded({ path: join(into, 'store') })),
    });
    try {
      return await accountFor(system, numbers);
    } finally {
      await system.stop();
    }
  }

  it(`${CUTS} cuts at random moments, with kills, lose and double nothing`, {
    timeout: 120_000 + CUTS * 15_000,
  }, async () => {
    const cuts: { readonly path: string; readonly before: readonly number[] }[] = [];
    let mail = 0;
    // Whether a cut contains a message on its way is chance; one of them must.
    for (let cut = 0; cut < CUTS || (mail === 0 && cut < 10 * CUTS); cut++) {
      await pause(Math.random() * 200);
      const before = accepted();
      const killed = cut % 5 === 2 ? WORKERS[cut % WORKERS.length] : undefined;
      const making = backUp();
      if (killed !== undefined) {
        children.get(killed)!.process.kill('SIGKILL');
        await children.get(killed)!.ended;
      }
      const { path, entries } = await making;
      mail += entries;
      cuts.push({ path, before });
      if (killed !== undefined) startOne(killed, 'worker');
    }
    expect(mail).toBeGreaterThan(0);
    const counts: number[] = [];
    for (const { path, before } of cuts) {
      const numbers = await restoredNumbers(path, before);
      counts.push(numbers.length);
    }
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
  });

  it('is restored into another cell on NATS, which continues the work', {
    timeout: 120_000,
  }, async () => {
    const before = accepted();
    const { path } = await backUp();
    const into = join(await scratch(), 'restored');
    const env = 'again';
    const about = { servers: [nats.url], name: 'restore', env };
    const target = await openNatsTarget(about);
    const restored = await restoreBackup({ from: path, into, cluster: { target, env } });
    await expect(
      restoreBackup({ from: path, into: `${into}2`, cluster: { target, env } }),
    ).rejects.toMatchObject({ code: 'CONFLICT' });
    await target.close();
    expect(restored).toMatchObject({ kind: 'cluster' });
    const ports = await openNats({
      ...about,
      shards: SHARDS,
      state: (cell) => openStateCache({ path: join(into, 'cache'), cell }),
      onAlarm: () => {},
    });
    const cluster = { role: 'worker', name: 'dora', version: '0' } as const;
    const system = await createSystem({ ...ports, actors: [puppetType()], env, cluster });
    try {
      await accountFor(system, before);
      const principal = { sub: 'ada', roles: ['user'] };
      const n = before[0]!;
      const repeated = { type: 'do', n, tells: [], appends: [], answer: 'never' };
      await system.tell(puppet(FIRST[n % FIRST.length]!), repeated, { principal, key: 'new' });
      await eventually(() => {
        const { context } = system.inspect(puppet(FIRST[n % FIRST.length]!))!;
        expect((context as Known).seen.filter((label) => label === `do:${n}`)).toHaveLength(2);
      });
    } finally {
      await system.stop();
    }
  });

  it('is encrypted, verified by folding every shard, and refused when it was changed', {
    timeout: 120_000,
  }, async () => {
    const { identity, recipient } = newRecipientKeys();
    const to = { folder: join(await scratch(), 'sealed') };
    const sealed = { to, seal: { recipients: [recipient] }, secret: Buffer.alloc(32, 7) };
    const { path, id } = await backUp(sealed);
    const temporary = await scratch();
    const openWith = { identities: [identity] };
    const verified = await verifyBackup({ from: path, temporary, openWith });
    expect(verified).toMatchObject({ id, shards: SHARDS });
    expect(verified.actors).toBeGreaterThan(FIRST.length);
    const other = { identities: [newRecipientKeys().identity] };
    await expect(verifyBackup({ from: path, temporary, openWith: other })).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
    });
    const file = join(path, 'backup.troupe');
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(file, bytes);
    await expect(verifyBackup({ from: path, temporary, openWith })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('that is killed leaves no backup, and the next one is complete', {
    timeout: 60_000,
  }, async () => {
    const to = { folder: join(await scratch(), 'killed') };
    mkdirSync(to.folder);
    for (let kills = 0; kills < 3; kills++) {
      const child = startIn(to.folder, 'backup', 'backup');
      await says(child, 1);
      await pause(Math.random() * 300);
      child.process.kill('SIGKILL');
      await child.ended;
    }
    const whole = (await listBackups(to.folder)).length;
    const before = accepted();
    const { path } = await backUp({ to });
    const listed = await listBackups(to.folder);
    expect(listed).toHaveLength(whole + 1);
    expect(listed.filter((each) => 'damage' in each)).toEqual([]);
    await restoredNumbers(path, before);
  });

  it('leaves nothing when it is ended, and neither does a server that is not there', async () => {
    const ended = new AbortController();
    const to = { folder: join(await scratch(), 'ended') };
    const onProgress = (what: string) => what.startsWith('shard') && ended.abort();
    const making = backUp({ to, signal: ended.signal, onProgress });
    await expect(making).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await listBackups(to.folder)).toEqual([]);
    const absent = openClusterSource({ servers: [nats.url], name: 'backup', env: 'none' });
    await expect(absent).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
