/**
 * NatsLog through broken connections and killed servers: no entry is lost, duplicated or out of
 * order, and every append returns a result. Every fault is real, on every available server.
 */
import type { NatsConnection } from '@nats-io/transport-node';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AppendUnknown, type Log, type LogEntry } from '../../../runtime/log/log.ts';
import { startTcpProxy, type TcpProxy } from '../../../loadtest/faults/tcp-proxy.ts';
import { eventually } from '../eventually.ts';
import {
  connectTo,
  makeStream,
  onEveryNats,
  openLog,
  type RestartableNats,
  restartableNats,
} from './nats-under-test.ts';

const CUTS = 20;
const KILLS = 4;
/** Number of entries that must be delivered between two faults. */
const BETWEEN_FAULTS = 25;

const text = ({ bytes }: LogEntry): string => Buffer.from(bytes).toString();

/** All entries of a subject, from the first one. */
const everything = async (log: Log, subject: string): Promise<LogEntry[]> => {
  const all: LogEntry[] = [];
  for (;;) {
    const page = await log.read(subject, (all.at(-1)?.position ?? 0) + 1);
    if (page.length === 0) return all;
    all.push(...page);
  }
};

/** Appends until it is stopped; acknowledged entries are in `stored`, by position. */
const writer = (log: Log, subject: string) => {
  const stored = new Map<number, string>();
  let stopped = false;
  let number = 0;
  const done = (async () => {
    while (!stopped) {
      const texts = Array.from({ length: 5 }, () => `${number++}`);
      const appends = texts.map(async (entry) => {
        const answer = await log.append(subject, Buffer.from(entry));
        if (answer.kind === 'stored') stored.set(answer.position, entry);
      });
      await Promise.allSettled(appends);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  const stop = () => {
    stopped = true;
    return done;
  };
  return { stored, stop };
};

/** Receives entries until it is closed. */
const reader = (log: Log, subject: string) => {
  const follow = log.follow(subject, 1);
  const seen: LogEntry[] = [];
  const done = (async () => {
    for (;;) {
      const entries = await follow.next();
      if (entries.length === 0) return;
      seen.push(...entries);
    }
  })();
  const close = () => {
    follow.close();
    return done;
  };
  return { seen, close };
};

/**
 * Appends records one after the other as the owner of a journal does (rule C3): the outcome of an
 * unknown append is read, never guessed.
 */
const fencedWriter = async (log: Log, subject: string, records: number) => {
  let unknown = 0;
  for (let i = 0, last = 0; i < records; ) {
    const answer = await log
      .append(subject, Buffer.from(`record ${i}`), { expectedLast: last })
      .catch((error: unknown) => {
        if (error instanceof AppendUnknown) unknown += 1;
        else expect(error).toMatchObject({ code: 'UNAVAILABLE' });
        return undefined;
      });
    if (answer?.kind === 'stored') {
      last = answer.position;
      i += 1;
      continue;
    }
    const found = await eventually(() => log.readLast(subject));
    if (found && found.position !== last) {
      expect(text(found)).toBe(`record ${i}`);
      last = found.position;
      i += 1;
    }
  }
  return unknown;
};

onEveryNats('NatsLog in trouble', (path) => {
  let server: RestartableNats;
  let proxy: TcpProxy;
  /** straight to the server, and through the proxy */
  let direct: NatsConnection;
  let proxied: NatsConnection;
  let stream: string;
  beforeEach(async () => {
    server = await restartableNats(path);
    proxy = await startTcpProxy(server.port);
    direct = await connectTo(server.port);
    proxied = await connectTo(proxy.port);
    stream = await makeStream(direct);
  });
  afterEach(async () => {
    await Promise.all([direct.close(), proxied.close()]);
    await proxy.close();
    await server.stop();
  });

  // What the server writes into a dying connection is gone for the consumer, and no later entry
  // comes that would show the gap.
  it('delivers the last entries that were sent over a connection that died', async () => {
    const log = await openLog(proxied, stream);
    const writing = await openLog(direct, stream);
    const { seen, close } = reader(log, 's');
    await writing.append('s', Buffer.from('first'));
    await eventually(() => expect(seen).toHaveLength(1));
    proxy.pause();
    const tail = Array.from({ length: 8 }, (_, i) => `${i}`);
    for (const entry of tail) await writing.append('s', Buffer.from(entry));
    proxy.cut();
    proxy.resume();
    await eventually(() => expect(seen.map(text)).toEqual(['first', ...tail]));
    await close();
  });

  it('follows a subject across cuts and kills without a lost, duplicate or reordered entry', async () => {
    const log = await openLog(proxied, stream);
    const writing = await openLog(direct, stream);
    const { stored, stop } = writer(writing, 's');
    const { seen, close } = reader(log, 's');
    const more = () => {
      const wanted = seen.length + BETWEEN_FAULTS;
      return eventually(() => expect(seen.length).toBeGreaterThan(wanted));
    };
    for (let fault = 1; fault <= CUTS + KILLS; fault++) {
      await more();
      if (fault % ((CUTS + KILLS) / KILLS) > 0) {
        proxy.cut();
        continue;
      }
      await server.restart('SIGKILL');
    }
    await more();
    await stop();
    const all = await eventually(() => everything(writing, 's'));
    await eventually(() => expect(seen.at(-1)?.position).toBe(all.at(-1)?.position));
    await close();
    expect(seen.map(({ position }) => position)).toEqual(all.map(({ position }) => position));
    expect(seen.map(text)).toEqual(all.map(text));
    const texts = new Map(all.map((entry) => [entry.position, text(entry)]));
    for (const [position, entry] of stored) expect(texts.get(position)).toBe(entry);
  });

  it('lets a fenced writer determine the outcome of every append', async () => {
    const log = await openLog(proxied, stream);
    const subjects = ['a', 'b', 'c', 'd'];
    const running = { cutting: true };
    const cutting = (async () => {
      for (let seen = 0; running.cutting; ) {
        const wanted = seen + 40;
        await eventually(async () => {
          seen = await log.last('a');
          expect(seen >= wanted || !running.cutting).toBe(true);
        });
        proxy.cut();
      }
    })();
    const unknown = await Promise.all(subjects.map((subject) => fencedWriter(log, subject, 250)));
    running.cutting = false;
    await cutting;
    expect(Math.max(...unknown)).toBeGreaterThan(0);
    const records = Array.from({ length: 250 }, (_, i) => `record ${i}`);
    for (const subject of subjects) {
      const all = await eventually(() => everything(log, subject));
      expect(all.map(text)).toEqual(records);
    }
  });

  it('reports an append as unknown when the connection is lost, not at its timeout', async () => {
    const log = await openLog(proxied, stream, { publishTimeoutMs: 3_600_000 });
    await log.append('s', Buffer.from('a'));
    proxy.pause();
    const append = log.append('s', Buffer.from('b'));
    proxy.cut();
    await expect(append).rejects.toBeInstanceOf(AppendUnknown);
  });

  it('ends a read when the connection is lost, not at its time limit', async () => {
    const log = await openLog(proxied, stream);
    await log.append('s', Buffer.from('a'));
    proxy.pause();
    const reads = [log.last('s'), log.readLast('s'), log.read('s', 1)];
    proxy.cut();
    for (const read of reads)
      await expect(read).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining('the connection to NATS is lost'),
      });
  });

  it('refuses appends while the connection is down, with nothing stored', async () => {
    const log = await openLog(proxied, stream, { publishTimeoutMs: 3_600_000 });
    await log.append('s', Buffer.from('a'));
    proxy.refuse(true);
    proxy.cut();
    let attempt = 0;
    await eventually(async () => {
      const append = log.append('s', Buffer.from(`attempt ${++attempt}`));
      await expect(append).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    });
    await expect(log.last('s')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    proxy.refuse(false);
    await eventually(() => log.append('s', Buffer.from('c')));
    expect((await everything(log, 's')).map(text)).not.toContain(`attempt ${attempt}`);
  });
});
