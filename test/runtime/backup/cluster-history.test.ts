/** What a backup of a cluster contains beside its shards: history, and files of an S3 bucket. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { ActorTurn } from '../../../protocols/actor-view.ts';
import { type Address, address } from '../../../protocols/address.ts';
import { historySubject, journalSubject } from '../../../protocols/subjects.ts';
import { openS3Artifacts } from '../../../runtime/artifacts/s3.ts';
import { historyFrames } from '../../../runtime/backup/cluster/cluster-history.ts';
import {
  type ClusterBackupOptions,
  createClusterBackup,
} from '../../../runtime/backup/cluster/create-cluster.ts';
import { openClusterSource } from '../../../runtime/backup/cluster/nats-source.ts';
import { restoreBackup, type RestoreOptions } from '../../../runtime/backup/restore.ts';
import { verifyBackup } from '../../../runtime/backup/verify.ts';
import { decodeFullTurns } from '../../../runtime/history/full-turns.ts';
import { historyRules } from '../../../runtime/history/policy.ts';
import { decodeSegment, summariesIn } from '../../../runtime/history/segment.ts';
import { createSystem, openEmbedded, openNats, type System } from '../../../runtime/index.ts';
import { MemoryState } from '../../../runtime/state/memory.ts';
import { openNatsTarget } from '../../../runtime/transfer/nats-target.ts';
import { type NatsServer, natsServers, startNats } from '../../servers/nats.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { eventually } from '../eventually.ts';
import { ada, lamp, lampType } from '../history/lamps.ts';
import { puppetType } from '../system/puppet.ts';
import { puppet } from '../system/world.ts';

const SHARDS = 2;
const ACTORS = 4;
const server = natsServers().at(-1);
/** Summaries of lamps, bodies of puppets. */
const types = () => [lampType('summary'), puppetType({ history: { keep: 'full' } })];
const all: readonly Address[] = Array.from({ length: ACTORS }, (_, n) => [lamp(n), puppet(`p${n}`)])
  .flat()
  .concat(address('t', 'lamp', 'bell'));

describe.skipIf(!server)('beside the shards of a cluster', () => {
  let nats: NatsServer;
  beforeAll(async () => {
    nats = await startNats({ path: server!.path });
  });
  afterAll(() => nats.stop());

  async function scratch(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'troupe-cluster-history-'));
    onTestFinished(() => rm(path, { recursive: true, force: true }));
    return path;
  }

  async function open(env: string): Promise<System> {
    const about = { servers: [nats.url], env, shards: SHARDS, onAlarm: () => {} };
    const ports = await openNats({ ...about, state: () => new MemoryState() });
    const cluster = { role: 'worker', name: `w-${env}`, version: '0' } as const;
    const actors = types();
    const system = await createSystem({ ...ports, actors, env, snapshotEvery: 4, cluster });
    onTestFinished(() => system.stop());
    return system;
  }

  async function source(env: string) {
    const opened = await openClusterSource({ servers: [nats.url], name: 'backup', env });
    onTestFinished(() => opened.close());
    return opened;
  }

  async function backUp(env: string, folder: string, more: Partial<ClusterBackupOptions> = {}) {
    return createClusterBackup({
      source: await source(env),
      config: { secrets: [], leftOut: [] },
      to: { folder },
      program: 'test',
      async *files() {},
      history: policyOf,
      ...more,
    });
  }

  async function restoreTo(env: string, from: string, bucket?: RestoreOptions['bucket']) {
    const target = await openNatsTarget({ servers: [nats.url], name: 'restore', env });
    onTestFinished(() => target.close());
    const into = join(await scratch(), 'restored');
    return restoreBackup({ from, into, cluster: { target, env }, ...(bucket && { bucket }) });
  }

  /**
   * Works until some turns of each shard are only in segments. That takes two snapshots of each,
   * and how many records, and so snapshots, the same messages make depends on how they are grouped.
   */
  async function workIntoSegments(system: System, env: string): Promise<void> {
    const { log } = await source(env);
    for (let round = 0; round < 3; round++) await work(system, 80);
    await eventually(async () => {
      await work(system, 8);
      for (let shard = 0; shard < SHARDS; shard++) {
        const [segment] = await log.read(historySubject(env, shard), 1);
        const [record] = await log.read(journalSubject(env, shard), 1);
        expect(segment && decodeSegment(segment).covers).toBeGreaterThan(0);
        expect(record!.position).toBeGreaterThan(1);
      }
    });
  }

  it('history is as it was, and continues, whatever turns follow the cut', {
    timeout: 60_000,
  }, async () => {
    const original = await open('from');
    // Stored in segments; then a few turns that only the journal has.
    await workIntoSegments(original, 'from');
    await work(original, 3);
    const before = await settledHistory(original);
    const folder = await scratch();
    const { path } = await backUp('from', folder);
    await work(original, 80);
    await restoreTo('to', path);
    const restored = await open('to');
    expect(await historyOf(restored)).toEqual(before);
    const bodies = await restored.actors.turn(puppet('p0'), before[puppet('p0')]!.at(-1)!.turn);
    expect(bodies?.event).toBeDefined();
    for (let round = 0; round < 3; round++) await work(restored, 80);
    const after = await settledHistory(restored);
    for (const actor of all) {
      const numbers = after[actor]!.map(({ turn }) => turn);
      expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => b - a));
      expect(after[actor]!.slice(-before[actor]!.length)).toEqual(before[actor]);
      expect(numbers.length).toBeGreaterThan(before[actor]!.length);
    }
    // Also where the cell is only looked at.
    const into = join(await scratch(), 'folder');
    await restoreBackup({ from: path, into });
    const ports = await openEmbedded({ path: join(into, 'store') });
    const folded = await createSystem({ ...ports, actors: types() });
    onTestFinished(() => folded.stop());
    expect(await historyOf(folded)).toEqual(before);
  });

  // They would hide, or replace, the turns to which a restored shard gives the same numbers.
  it('history has no turn behind the cut', { timeout: 60_000 }, async () => {
    const env = 'cut';
    const system = await open(env);
    await workIntoSegments(system, env);
    await settledHistory(system);
    const opened = await source(env);
    const position = Math.max(
      await opened.log.last(journalSubject(env, 0)),
      await opened.log.last(journalSubject(env, 1)),
    );
    const turnNo = 37;
    const copies = [0, 1].map((shard) => ({ shard, scalars: { turnNo } as never }));
    const numbers: number[] = [];
    const heads: number[] = [];
    for await (const frame of historyFrames({
      source: opened,
      copies,
      cut: { position },
      policyOf,
    }))
      if (frame[0] === 'turns')
        for (const [at, bytes] of frame[2])
          for (const { turn } of decodeFullTurns({ position: at, bytes, logTimeMs: 0 }))
            numbers.push(turn.turnNo);
      else if (frame[0] === 'history')
        for (const [at, bytes] of frame[2]) {
          const segment = decodeSegment({ position: at, bytes, logTimeMs: 0 });
          heads.push(segment.lastTurn);
          for (const actor of all)
            numbers.push(...summariesIn(segment, actor).map(({ turn }) => turn));
        }
    expect(Math.max(...heads)).toBeLessThanOrEqual(turnNo);
    expect(Math.max(...numbers)).toBe(turnNo);
    expect(new Set(numbers).size).toBe(turnNo);
  });

  describe('files of a bucket', () => {
    const settings = { encryption: 'none', mimeTypes: ['*/*'] } as const;
    const files = ['one', 'two', 'three', 'four'].map((text) => Buffer.from(text));
    const bucketServer = async (): Promise<S3Server> => {
      const running = await startS3Server();
      onTestFinished(() => running.close());
      running.settings.listing = true;
      return running;
    };
    const bucketOf = ({ settings: _, ...place }: S3Server) =>
      openS3Artifacts({ ...place, ...settings });
    const reads = ({ requests }: S3Server) =>
      requests.filter((line) => /^GET .*\/[0-9a-f]{64}$/.test(line)).length;

    it('are read once, and restored into the bucket of the new cell', {
      timeout: 60_000,
    }, async () => {
      const [from, to] = [await bucketServer(), await bucketServer()];
      const bucket = bucketOf(from);
      const stored = [];
      for (const contents of files)
        stored.push(await bucket.put('acme', contents, { contentType: 'text/plain' }));
      from.objects.set(`acme/${'0'.repeat(64)}`, { body: Buffer.from('foreign'), headers: {} });
      // of `troupe doctor`
      await bucket.put('troupe-doctor', Buffer.from('probe'), { contentType: 'text/plain' });
      await work(await open('files'), 8);
      const folder = await scratch();
      const leftOut: string[] = [];
      const onLeftOut = (line: string) => void leftOut.push(line);
      const first = await backUp('files', folder, { bucket, onLeftOut });
      expect(reads(from)).toBe(files.length);
      expect(leftOut).toEqual([expect.stringContaining('0'.repeat(64))]);
      from.objects.delete(`acme/${stored[0]!.hash}`);
      const second = await backUp('files', folder, { bucket, onLeftOut });
      expect(reads(from)).toBe(files.length);
      expect(first.files - second.files).toBe(1);
      await expect(restoreTo('files-2', first.path, async () => undefined)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      const restored = bucketOf(to);
      await restoreTo('files-2', first.path, async () => restored);
      for (const [n, artifact] of stored.entries())
        expect(await restored.get('acme', artifact.hash)).toEqual({
          contents: Uint8Array.from(files[n]!),
          artifact,
        });
      const temporary = await scratch();
      const verified = await verifyBackup({ from: second.path, temporary });
      expect(verified).toMatchObject({ shards: SHARDS });
    });

    it('need the right to list the bucket', { timeout: 60_000 }, async () => {
      const running = await bucketServer();
      running.settings.listing = false;
      const bucket = bucketOf(running);
      await work(await open('unlisted'), 8);
      await expect(backUp('unlisted', await scratch(), { bucket })).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining('s3:ListBucket') as string,
      });
    });

    it('are missed when the store does not answer with a list', { timeout: 60_000 }, async () => {
      const running = await bucketServer();
      const bucket = bucketOf(running);
      await bucket.put('acme', files[0]!, { contentType: 'text/plain' });
      await work(await open('listless'), 8);
      running.faults.push({ kind: 'refuse', status: 404, code: 'NotFound' });
      await expect(backUp('listless', await scratch(), { bucket })).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining('check the endpoint') as string,
      });
    });

    it('need the right to read each of them', { timeout: 60_000 }, async () => {
      const running = await bucketServer();
      const bucket = bucketOf(running);
      const { hash } = await bucket.put('acme', files[0]!, { contentType: 'text/plain' });
      const body = Buffer.from('<Error><Code>AccessDenied</Code></Error>');
      running.objects.set(`acme/${hash}`, { status: 403, body, headers: {} });
      await work(await open('unread'), 8);
      await expect(backUp('unread', await scratch(), { bucket })).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining('permit the access key to read') as string,
      });
    });
  });
});

type Histories = Readonly<Record<string, readonly ActorTurn[]>>;

const rules = historyRules(
  {
    latest: (type) => types().find((each) => each.type === type),
    all: types,
  },
  SHARDS,
);
const policyOf = (type: string) => rules.policyOf(type);

async function work(system: System, messages: number): Promise<void> {
  const sent = Array.from({ length: messages }, (_, n) => {
    const isLamp = n % 2 === 0;
    const key = Math.floor(n / 2) % ACTORS;
    const event = isLamp
      ? { type: n % 6 === 0 ? 'press' : 'ring', n }
      : { type: 'do', n, answer: 'never' };
    return system.tell(isLamp ? lamp(key) : puppet(`p${key}`), event, ada);
  });
  await Promise.all(sent);
  await eventually(() => {
    for (const { lag, state } of system.status()) expect([state, lag]).toEqual(['owned', 0]);
    for (let n = 0; n < ACTORS; n++) expect(system.inspect(lamp(n))?.value ?? 'off').toBe('off');
  });
}

async function historyOf(system: System): Promise<Histories> {
  const found: Record<string, readonly ActorTurn[]> = {};
  for (const actor of all)
    found[actor] = (await system.actors.history(actor, { limit: 10_000 })).turns;
  return found;
}

/** When it does not change any more. */
async function settledHistory(system: System): Promise<Histories> {
  let last = await historyOf(system);
  await eventually(async () => {
    const before = last;
    last = await historyOf(system);
    expect(last).toEqual(before);
  });
  return last;
}
