/**
 * Raw NATS: what JetStream gives this machine's Node client by itself, from one connection on the
 * server and at the moment of a scenario. Messages are as long as the scenario's own.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstream, type JetStreamClient, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { spread } from './statistics.ts';
import { inParallel } from './system.ts';

const STREAM = 'RAW';
const MAIL = 'raw.mail';
/** More in flight over one connection brings no more per second. */
const WINDOW = 256;
const SUBJECTS = 64;
const DEADLINE_MS = 30_000;

export type RawRates = {
  /** with a message id and so the server's dedupe, 256 in flight */
  readonly publishPerSecond: number;
  readonly consumePerSecond: number;
  /** one in flight for each of 64 subjects */
  readonly fencedPerSecond: number;
};

/** The stream is as the cell's own, and gone when this resolves. */
export async function rawRates(url: string, count: number, bytes: number): Promise<RawRates> {
  return withStream(url, async (stream) => {
    const payload = Buffer.alloc(bytes, 'x');
    const publish = async () => {
      await stream.publish(MAIL, payload, { msgID: randomUUID() });
    };
    await inParallel(count / 4, WINDOW, publish);
    const publishPerSecond = await perSecond(count, () => inParallel(count, WINDOW, publish));
    const consumePerSecond = await perSecond(count, () => consume(stream, count));
    const fencedPerSecond = await perSecond(count, () => fenced(stream, payload, count));
    return { publishPerSecond, consumePerSecond, fencedPerSecond };
  });
}

/** Milliseconds from publish to its answer, one at a time, `everyMs` apart. */
export async function rawPublishMs(url: string, count: number, bytes: number, everyMs: number) {
  return withStream(url, async (stream) => {
    const payload = Buffer.alloc(bytes, 'x');
    const samples: number[] = [];
    for (let n = 0; n < count; n++) {
      await sleep(everyMs);
      const begun = performance.now();
      await stream.publish(MAIL, payload, { msgID: randomUUID() });
      samples.push(performance.now() - begun);
    }
    return spread(samples);
  });
}

async function withStream<T>(
  url: string,
  measure: (stream: JetStreamClient) => Promise<T>,
): Promise<T> {
  const nc = await connect({ servers: url });
  try {
    const manager = await jetstreamManager(nc);
    await manager.streams.add({ name: STREAM, subjects: ['raw.>'], discard: 'new' });
    const result = await measure(jetstream(nc));
    await manager.streams.delete(STREAM);
    return result;
  } finally {
    await nc.close();
  }
}

async function perSecond(count: number, work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return (count * 1_000) / (performance.now() - begun);
}

async function consume(stream: JetStreamClient, count: number): Promise<void> {
  const consumer = await stream.consumers.get(STREAM, { filter_subjects: MAIL });
  let seen = 0;
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`only ${seen} of ${count} came`)), DEADLINE_MS);
    const callback = () => {
      if (++seen !== count) return;
      clearTimeout(late);
      resolve();
    };
    consumer.consume({ max_messages: 500, callback }).catch(reject);
  });
}

async function fenced(stream: JetStreamClient, payload: Buffer, count: number): Promise<void> {
  await inParallel(SUBJECTS, SUBJECTS, async (at) => {
    let last = 0;
    for (let n = 0; n < count / SUBJECTS; n++) {
      const expect = { streamName: STREAM, lastSubjectSequence: last };
      last = (await stream.publish(`raw.journal.${at}`, payload, { expect })).seq;
    }
  });
}
