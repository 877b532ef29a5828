/** Edge cases of NatsLog: racing writers, full and reset streams, slow readers, large entries. */
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Blobs } from '../../../runtime/blobs/blobs.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import type { Follow, LogEntry } from '../../../runtime/log/log.ts';
import type { NatsLog } from '../../../runtime/log/nats-log.ts';
import { eventually } from '../eventually.ts';
import {
  connectTo,
  makeStream,
  onEveryNats,
  openLog,
  type RestartableNats,
  restartableNats,
} from './nats-under-test.ts';

const text = ({ bytes }: LogEntry): string => Buffer.from(bytes).toString();

const take = async (follow: Follow, count: number): Promise<LogEntry[]> => {
  const taken: LogEntry[] = [];
  while (taken.length < count) taken.push(...(await follow.next()));
  return taken;
};

onEveryNats('NatsLog at the edges', (path) => {
  let server: RestartableNats;
  let nc: NatsConnection;
  let manager: JetStreamManager;
  let blobs: Blobs;
  let stream: string;
  let log: NatsLog;
  beforeAll(async () => {
    server = await restartableNats(path);
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    nc = await connectTo(server.port);
    manager = await jetstreamManager(nc);
    blobs = new MemoryBlobs();
    stream = await makeStream(nc);
    log = await openLog(nc, stream, { blobs });
  });
  afterEach(async () => {
    await log.close();
    await nc.close();
  });

  it('stores one of two appends that race on two connections with one expectation', async () => {
    const other = await connectTo(server.port);
    const logs = [log, await openLog(other, stream)];
    for (let round = 0, last = 0; round < 200; round++) {
      const answers = await Promise.all(
        logs.map((each, i) =>
          each.append('s', Buffer.from(`${round}/${i}`), { expectedLast: last }),
        ),
      );
      const stored = answers.filter((answer) => answer.kind === 'stored');
      expect(stored).toHaveLength(1);
      last = stored[0]!.position;
    }
    expect(await log.read('s', 0)).toHaveLength(200);
    await other.close();
  });

  // 2.9 counts from one again after a crash when a stream was emptied by a filtered purge; new mail
  // would then have positions below those already read.
  it('keeps the last position through a trim of everything and a kill of the server', async () => {
    for (let i = 0; i < 300; i++) await log.append('s', Buffer.from(`${i}`));
    const last = await log.last('s');
    await log.trim('s', last + 1000);
    await server.restart('SIGKILL');
    expect(await eventually(() => log.last('s'))).toBe(last);
    const answer = await log.append('s', Buffer.from('next'), { expectedLast: last });
    expect(answer.kind === 'stored' && answer.position).toBeGreaterThan(last);
  });

  it('reports a full stream, and accepts entries again after a trim', async () => {
    const small = await makeStream(nc, { maxBytes: 200_000 });
    const full = await openLog(nc, small);
    const entry = Buffer.alloc(10_000);
    const fill = async () => {
      for (let i = 0; i < 100; i++) await full.append('s', entry);
    };
    await expect(fill()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('full'),
    });
    const last = await full.last('s');
    expect(await full.read('s', 0)).toHaveLength(last);
    await full.trim('s', last - 1);
    expect(await full.append('s', entry, { expectedLast: last })).toMatchObject({ kind: 'stored' });
  });

  it('reports that nothing was stored when the stream is missing', async () => {
    const gone = await openLog(nc, 'nowhere');
    await expect(gone.append('s', Buffer.from('a'))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(gone.last('s')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('refuses subjects with empty tokens, wildcards or white space', async () => {
    for (const subject of ['', '.', 'a..b', 'a.', '.a', 'a.*', 'a.>', 'a>', 'a b', 'a\nb', 'ä b']) {
      await expect(log.append(subject, Buffer.from('x'))).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      await expect(log.last(subject)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });

  it('buffers no entries before they are consumed, and delivers all that are', async () => {
    const entry = Buffer.alloc(20_000);
    await Promise.all(Array.from({ length: 3_000 }, () => log.append('s', entry)));
    await Promise.all(Array.from({ length: 5_000 }, (_, i) => log.append('t', Buffer.of(i & 255))));
    const follows = [log.follow('s', 1), log.follow('t', 1)];
    const delivered = async () => {
      const consumers = await manager.consumers.list(stream).next();
      const of = (subject: string) =>
        consumers.find(({ config }) => config.filter_subject === `${stream}.${subject}`);
      return [of('s')?.delivered.consumer_seq ?? 0, of('t')?.delivered.consumer_seq ?? 0];
    };
    await eventually(async () => {
      const [large, small] = await delivered();
      expect(large! * entry.length).toBeGreaterThan(2 * 2 ** 20);
      expect(small).toBeGreaterThan(1_000);
    });
    for (let looks = 0; looks < 20; looks++) {
      const [large, small] = await delivered();
      expect(large! * entry.length).toBeLessThanOrEqual(8 * 2 ** 20);
      expect(small).toBeLessThanOrEqual(2_000);
    }
    const [large, small] = await Promise.all([take(follows[0]!, 3_000), take(follows[1]!, 5_000)]);
    expect(large).toHaveLength(3_000);
    expect(small.map(({ bytes }) => bytes[0])).toEqual(
      Array.from({ length: 5_000 }, (_, i) => i & 255),
    );
    for (const follow of follows) follow.close();
  });

  it('continues when the consumer of a follow is deleted', async () => {
    const follow = log.follow('s', 1);
    await log.append('s', Buffer.from('a'));
    expect((await take(follow, 1)).map(text)).toEqual(['a']);
    for (const { name } of await manager.consumers.list(stream).next())
      await manager.consumers.delete(stream, name);
    await log.append('s', Buffer.from('b'));
    expect((await take(follow, 1)).map(text)).toEqual(['b']);
    follow.close();
  });

  it('leaves no consumer behind when a follow is closed or a read is done', async () => {
    for (let i = 0; i < 10; i++) await log.append('s', Buffer.from('a'));
    const follow = log.follow('s', 1);
    await follow.next();
    expect(await log.read('s', 3)).toHaveLength(8);
    follow.close();
    await eventually(async () => {
      expect(await manager.consumers.list(stream).next()).toEqual([]);
    });
  });

  it('asks for a stream once for all follows that begin together, and reads few entries singly', async () => {
    const asked: string[] = [];
    const observer = await connectTo(server.port);
    observer.subscribe('$JS.API.>', {
      callback: (_, { subject }) => void asked.push(subject.split('.').slice(2, 4).join('.')),
    });
    await observer.flush();
    const count = async (of: string) => {
      await observer.flush();
      return asked.filter((name) => name === of).length;
    };
    const names = Array.from({ length: 20 }, (_, i) => `f${i}`);
    const follows = names.map((name) => log.follow(name, 1));
    const taken = follows.map((follow) => take(follow, 1));
    for (const name of names) await log.append(name, Buffer.from(name));
    expect((await Promise.all(taken)).map(([entry]) => text(entry!))).toEqual(names);
    expect(await count('STREAM.INFO')).toBeLessThanOrEqual(2);
    expect(await count('CONSUMER.CREATE')).toBe(20);
    for (const follow of follows) follow.close();
    for (const each of ['a', 'b', 'c']) await log.append('s', Buffer.from(each));
    expect((await log.read('s', 1)).map(text)).toEqual(['a', 'b', 'c']);
    expect(await count('CONSUMER.CREATE')).toBe(20);
    for (const each of ['d', 'e', 'f']) await log.append('s', Buffer.from(each));
    expect((await log.read('s', 1)).map(text)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect((await log.read('s', 1, { limit: 5 })).map(text)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(await count('CONSUMER.CREATE')).toBe(22);
    await observer.close();
  });

  it('ends a follow whose stream was recreated, or ends before its position', async () => {
    const corrupt = { code: 'INTERNAL', details: { reason: 'CORRUPT' } };
    const beyond = log.follow('s', 1_000);
    await expect(beyond.next()).rejects.toMatchObject(corrupt);
    const follow = log.follow('s', 1);
    for (let i = 0; i < 5; i++) await log.append('s', Buffer.from(`${i}`));
    await take(follow, 5);
    await manager.streams.delete(stream);
    const again = follow.next();
    await manager.streams.add({ name: stream, subjects: [`${stream}.>`] });
    await log.append('s', Buffer.from('other'));
    await expect(again).rejects.toMatchObject(corrupt);
    await expect(follow.next()).rejects.toMatchObject(corrupt);
    for (const each of [beyond, follow]) each.close();
  });

  it('ends waiting follows when the log is closed', async () => {
    const waiting = log.follow('s', 1).next();
    await log.close();
    await expect(waiting).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  describe('with entries that no message can carry', () => {
    const large = (fill: number) => Buffer.alloc(3 * 2 ** 20, fill);
    const read = async () => (await log.read('s', 0)).map(({ bytes }) => [bytes[0], bytes.length]);

    it('stores and reads them at their position, and keeps the order of appends', async () => {
      await Promise.all([
        log.append('s', Buffer.from('a')),
        log.append('s', large(1)),
        log.append('s', Buffer.from('b')),
        log.append('s', large(2)),
        log.append('s', Buffer.from('c')),
      ]);
      const wanted = [
        [97, 1],
        [1, 3 * 2 ** 20],
        [98, 1],
        [2, 3 * 2 ** 20],
        [99, 1],
      ];
      expect(await read()).toEqual(wanted);
      const follow = log.follow('s', 1);
      const followed = await take(follow, 5);
      expect(followed.map(({ bytes }) => [bytes[0], bytes.length])).toEqual(wanted);
      follow.close();
      const last = await log.last('s');
      await log.append('s', large(3), { expectedLast: last });
      expect((await log.readLast('s'))?.bytes[0]).toBe(3);
      const before = await blobs.list('big/');
      expect(await log.append('s', large(4), { expectedLast: last })).toMatchObject({
        kind: 'refused',
      });
      expect(await blobs.list('big/')).toEqual(before);
    });

    it('reads an entry of any length around the limit as it was written', async () => {
      const limit = nc.info!.max_payload;
      for (const length of [limit - 1_025, limit - 1_024, limit - 1_023, limit, limit + 1]) {
        await log.append('s', Buffer.alloc(length, 7));
        expect((await log.readLast('s'))?.bytes.length).toBe(length);
      }
    });

    it('removes the blobs of the entries that a trim removes, and no others', async () => {
      const positions = [];
      for (let i = 0; i < 4; i++) {
        const answer = await log.append('s', large(i));
        if (answer.kind === 'stored') positions.push(answer.position);
      }
      await log.append('t', large(9));
      expect(await blobs.list('big/')).toHaveLength(5);
      await log.trim('s', positions[1]!);
      expect(await blobs.list('big/')).toHaveLength(3);
      expect(await read()).toEqual([
        [2, 3 * 2 ** 20],
        [3, 3 * 2 ** 20],
      ]);
      await log.trim('s', positions[3]!);
      expect(await blobs.list('big/')).toHaveLength(2);
      expect((await log.readLast('t'))?.bytes[0]).toBe(9);
    });

    // Bug hunted: a load takes a read of fewer entries than its limit for the whole journal.
    it('reads on when a trim takes entries during the read', async () => {
      const first = await log.append('s', large(1));
      for (const each of ['a', 'b']) await log.append('s', Buffer.from(each));
      const trimmed = Object.assign(Object.create(blobs) as Blobs, {
        get: async () => {
          if (first.kind === 'stored') await manager.streams.deleteMessage(stream, first.position);
          return undefined;
        },
      });
      const other = await openLog(nc, stream, { blobs: trimmed });
      expect((await other.read('s', 1, { limit: 2 })).map(text)).toEqual(['a', 'b']);
      await other.close();
    });

    it('never returns other bytes for such an entry and never skips one', async () => {
      const corrupt = { code: 'INTERNAL', details: { reason: 'CORRUPT' } };
      await log.append('s', large(1));
      await log.append('s', Buffer.from('behind'));
      const [name] = await blobs.list('big/');
      await blobs.delete(name!);
      await expect(log.read('s', 0)).rejects.toMatchObject(corrupt);
      await blobs.put(name!, large(2));
      await expect(log.read('s', 0)).rejects.toMatchObject(corrupt);
      const follow = log.follow('s', 1);
      await expect(follow.next()).rejects.toMatchObject(corrupt);
      follow.close();
    });
  });
});
