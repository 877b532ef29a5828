import {
  DiscardPolicy,
  type JetStreamManager,
  jetstreamManager,
  StorageType,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NatsBlobs, type NatsBlobsOptions } from '../../../runtime/blobs/nats-blobs.ts';
import { connectNats } from '../../../runtime/cluster/nats-connection.ts';
import { describeOnNats } from '../../servers/describe-on-nats.ts';
import { type NatsServer, startNats } from '../../servers/nats.ts';
import { startTcpProxy } from '../../../loadtest/faults/tcp-proxy.ts';
import { eventually } from '../eventually.ts';
import { blobsContract } from './contract.ts';

const CHUNK = 256 * 1024;
/** In a loop: `Uint8Array.from` takes 17 times as long, a second for the largest. */
const bytes = (length: number, seed: number): Buffer => {
  const made = Buffer.alloc(length);
  for (let i = 0; i < length; i++) made[i] = (i * 31 + seed * 7 + (i >> 8)) & 0xff;
  return made;
};

describeOnNats('NatsBlobs', ({ path }) => {
  let server: NatsServer;
  let nc: NatsConnection;
  let manager: JetStreamManager;
  beforeAll(async () => {
    server = await startNats({ path });
    nc = await connectNats({ servers: [server.url] });
    manager = await jetstreamManager(nc);
  });
  afterAll(async () => {
    await nc.close();
    await server.stop();
  });

  let made = 0;
  /**
   * A new stream with a blob store on it. It is not deleted: NATS 2.15 may fail to create a stream
   * while it removes the folder of its last stream.
   */
  const open = async (options: Partial<NatsBlobsOptions> & { maxBytes?: number } = {}) => {
    const env = `e${++made}`;
    const stream = `blobs-${env}`;
    await manager.streams.add({
      name: stream,
      subjects: [`blb.${env}.>`],
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      max_bytes: options.maxBytes ?? -1,
    });
    const own = { stream, env, ...options };
    return { stream, env, blobs: new NatsBlobs(nc, own), options: own };
  };
  const subjectsOf = async (stream: string, filter: string): Promise<string[]> => {
    const { state } = await manager.streams.info(stream, { subjects_filter: filter });
    return Object.keys(state.subjects ?? {}).sort();
  };
  const messagesOf = async (stream: string): Promise<number> =>
    (await manager.streams.info(stream)).state.messages;

  blobsContract('NATS', async () => {
    const { blobs, options } = await open();
    return {
      blobs,
      reopen: async () => new NatsBlobs(nc, options),
      dispose: async () => {},
    };
  });

  it('returns bytes of every size around that of a chunk', async () => {
    const { blobs } = await open();
    for (const length of [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 9 * CHUNK + 5]) {
      const value = bytes(length, length);
      await blobs.put(`n/${length}`, value);
      expect(value.equals((await blobs.get(`n/${length}`))!)).toBe(true);
    }
  });

  it('separates the blobs and chunks of nested names', async () => {
    const { blobs } = await open();
    const names = ['a', 'a/b', 'a/b/c', 'a/b/c/d', 'a.b', 'm', 'c'];
    for (const [i, name] of names.entries()) await blobs.put(name, bytes(2 * CHUNK, i));
    await blobs.delete('a');
    await blobs.delete('a/b/c');
    expect(await blobs.list('')).toEqual(['a.b', 'a/b', 'a/b/c/d', 'c', 'm']);
    for (const [i, name] of names.entries()) {
      const isGone = name === 'a' || name === 'a/b/c';
      const found = await blobs.get(name);
      expect(found && bytes(2 * CHUNK, i).equals(found)).toBe(isGone ? undefined : true);
    }
  });

  it('reports a damaged blob when a chunk is missing or wrong', async () => {
    const { stream, env, blobs } = await open();
    await blobs.put('snap/a', bytes(8 * CHUNK, 1));
    const [chunk] = await subjectsOf(stream, `blb.${env}.c.snap.a.*.5`);
    await manager.streams.purge(stream, { filter: chunk! });
    const damaged = { code: 'INTERNAL', details: { reason: 'CORRUPT' } };
    await expect(blobs.get('snap/a')).rejects.toMatchObject(damaged);
    await expect(blobs.get('snap/a')).rejects.toThrow(/1 of its 8 chunks are missing/);
    nc.publish(chunk!, bytes(CHUNK, 99));
    await nc.flush();
    await expect(blobs.get('snap/a')).rejects.toMatchObject(damaged);
    await expect(blobs.get('snap/a')).rejects.toThrow(/do not match its hash/);
  });

  it('accepts one of many concurrent writers, and keeps no bytes of the others', async () => {
    const { stream, blobs, options } = await open();
    const others = [blobs, new NatsBlobs(nc, options), new NatsBlobs(nc, options)];
    const values = [1, 2, 3].map((seed) => bytes(900_000, seed));
    const puts = await Promise.allSettled(others.map((one, i) => one.put('n', values[i]!)));
    const won = puts.findIndex(({ status }) => status === 'fulfilled');
    expect(puts.filter(({ status }) => status === 'rejected')).toHaveLength(2);
    for (const put of puts)
      if (put.status === 'rejected') expect(put.reason).toMatchObject({ code: 'CONFLICT' });
    expect(values[won]!.equals((await blobs.get('n'))!)).toBe(true);
    expect(await messagesOf(stream)).toBe(1 + Math.ceil(900_000 / CHUNK));
  });

  it('accepts all of many concurrent writers of the same bytes', async () => {
    const { stream, blobs, options } = await open();
    const value = bytes(600_000, 4);
    await Promise.all([blobs, new NatsBlobs(nc, options)].map((one) => one.put('n', value)));
    expect(value.equals((await blobs.get('n'))!)).toBe(true);
    expect(await messagesOf(stream)).toBe(1 + Math.ceil(600_000 / CHUNK));
  });

  it('never shows a part of a blob to readers while it is written or deleted', async () => {
    const { blobs, options } = await open();
    const reader = new NatsBlobs(nc, options);
    const value = bytes(6 * CHUNK, 5);
    let isOver = false;
    const writing = (async () => {
      for (let round = 0; round < 15; round++) {
        await blobs.put('n', value);
        await blobs.delete('n');
      }
      isOver = true;
    })();
    while (!isOver) {
      const found = await reader.get('n');
      if (found !== undefined) expect(value.equals(found)).toBe(true);
    }
    await writing;
    expect(await blobs.list('')).toEqual([]);
  });

  it('stores a blob although the server is killed meanwhile', async () => {
    const { stream, env, blobs } = await open();
    const large = bytes(20_000_000, 6);
    const put = blobs.put('n', large);
    await eventually(async () => {
      expect((await subjectsOf(stream, `blb.${env}.c.>`)).length).toBeGreaterThan(4);
    });
    await server.kill('SIGKILL');
    server = await startNats({ path, folder: server.folder, port: server.port });
    await put;
    expect(large.equals((await blobs.get('n'))!)).toBe(true);
  });

  it('never shows an interrupted put, and removes it when it counts as abandoned', async () => {
    const { stream, env, blobs, options } = await open();
    const proxy = await startTcpProxy(server.port);
    const dying = await connectNats({ servers: [`127.0.0.1:${proxy.port}`] });
    const put = new NatsBlobs(dying, options).put('dir/n', bytes(30_000_000, 7));
    const settled = Promise.allSettled([put]);
    const chunks = () => subjectsOf(stream, `blb.${env}.c.>`);
    await eventually(async () => expect((await chunks()).length).toBeGreaterThan(4));
    await dying.close();
    await proxy.close();
    expect(await settled).toMatchObject([{ reason: { code: 'UNAVAILABLE' } }]);
    expect(await blobs.get('dir/n')).toBeUndefined();
    expect(await blobs.list('')).toEqual([]);

    // for another process, the blob may still be uploading
    await blobs.sweep('dir/');
    const value = bytes(4 * CHUNK, 8);
    await blobs.put('dir/n', value);
    await blobs.delete('dir/n');
    expect((await chunks()).length).toBeGreaterThan(4);

    const later = new NatsBlobs(nc, { ...options, abandonedMs: 0 });
    await later.put('dir/other', value);
    await later.sweep('elsewhere/');
    expect((await chunks()).length).toBeGreaterThan(8);
    await later.sweep('dir/');
    expect(await chunks()).toHaveLength(4);
    expect(value.equals((await later.get('dir/other'))!)).toBe(true);
  });

  it('removes the chunks of an interrupted put at the next put of the name, and at its deletion', async () => {
    const { stream, env, options } = await open({ abandonedMs: 0 });
    const blobs = new NatsBlobs(nc, options);
    const leave = async (put: string) => {
      for (let i = 0; i < 3; i++) nc.publish(`blb.${env}.c.n.${put}.${i}`, bytes(10, i));
      await nc.flush();
    };
    await leave('dead1');
    await blobs.put('n', bytes(2 * CHUNK, 1));
    expect(await messagesOf(stream)).toBe(3);
    await leave('dead2');
    await blobs.delete('n');
    expect(await messagesOf(stream)).toBe(0);
  });

  it('removes what interrupted puts left of given-up names, which hold no file back then', async () => {
    const { stream, env, blobs } = await open();
    const leave = async (name: string) => {
      for (let i = 0; i < 3; i++) nc.publish(`blb.${env}.c.snap.${name}.dead.${i}`, bytes(10, i));
      await nc.flush();
    };
    const named = bytes(2 * CHUNK, 1);
    await blobs.put('snap/10-3', named);
    await leave('10-2');
    await leave('20-5');
    const end = (await messagesOf(stream)) + 100;
    const { signal } = new AbortController();
    await expect(blobs.storeAgain(end, signal)).rejects.toMatchObject({
      message: expect.stringContaining('snap/10-2'),
    });
    await blobs.dropUnfinished('snap/', (name) => name !== 'snap/20-5');
    expect(await subjectsOf(stream, `blb.${env}.c.snap.10-2.>`)).toEqual([]);
    expect(await subjectsOf(stream, `blb.${env}.c.snap.20-5.>`)).toHaveLength(3);
    expect(named.equals((await blobs.get('snap/10-3'))!)).toBe(true);
  });

  it('reads a large blob although the connection is cut meanwhile', async () => {
    const { blobs, options } = await open();
    const value = bytes(40 * CHUNK, 9);
    await blobs.put('n', value);
    const proxy = await startTcpProxy(server.port);
    const cutOff = await connectNats({ servers: [`127.0.0.1:${proxy.port}`] });
    const reader = new NatsBlobs(cutOff, options);
    const reading = reader.get('n');
    await eventually(() => expect(cutOff.stats().inBytes).toBeGreaterThan(CHUNK));
    proxy.cut();
    expect(value.equals((await reading)!)).toBe(true);
    await cutOff.close();
    await proxy.close();
  });

  it('reports a full stream, lists nothing, and continues when there is space', async () => {
    const { blobs } = await open({ maxBytes: 2_000_000, abandonedMs: 0 });
    await blobs.put('small', bytes(1_000_000, 1));
    await expect(blobs.put('large', bytes(2_000_000, 2))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('maximum bytes exceeded'),
    });
    expect(await blobs.list('')).toEqual(['small']);
    await blobs.delete('small');
    await blobs.sweep('');
    await blobs.put('other', bytes(1_500_000, 3));
    expect(await blobs.list('')).toEqual(['other']);
  });

  it('lists more names than the server returns at once', async () => {
    const { env, blobs } = await open();
    const count = 100_500;
    for (let i = 0; i < count; i++) nc.publish(`blb.${env}.m.many.${i}`);
    nc.publish(`blb.${env}.m.other`);
    await nc.flush();
    await eventually(async () => expect(await blobs.list('other')).toEqual(['other']));
    const names = await blobs.list('many/');
    expect(names).toHaveLength(count);
    expect(new Set(names).size).toBe(count);
  });
});

describeOnNats('NatsBlobs where messages must be small', ({ path }) => {
  it('splits blobs into chunks that the server accepts', async () => {
    const server = await startNats({ path, config: 'max_payload: 8192' });
    const nc = await connectNats({ servers: [server.url] });
    const manager = await jetstreamManager(nc);
    await manager.streams.add({ name: 's', subjects: ['blb.e.>'] });
    const blobs = new NatsBlobs(nc, { stream: 's', env: 'e' });
    const value = bytes(300_000, 1);
    await blobs.put('n', value);
    expect(value.equals((await blobs.get('n'))!)).toBe(true);
    await nc.close();
    await server.stop();
  });
});
