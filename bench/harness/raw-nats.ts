/**
 * The limits of JetStream with this machine's Node client, over one connection to the server of a
 * scenario, measured during the scenario. Messages have the size of the scenario's messages.
 */
import { randomUUID } from 'node:crypto';
import { jetstream, type JetStreamClient, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { ENV } from './cell.ts';
import { inParallel } from './system.ts';

const STREAM = 'RAW';
const MAIL = 'raw.mail';
/** More requests in flight over one connection do not increase the rate. */
const WINDOW = 256;
const SUBJECTS = 64;
const DEADLINE_MS = 30_000;

export type RawRates = {
  /** with a message id, hence deduplicated by the server, 256 in flight */
  readonly publishPerSecond: number;
  readonly consumePerSecond: number;
  /** one in flight for each of 64 subjects */
  readonly fencedPerSecond: number;
};

/** The stream has the settings of the cell's streams and is removed before this resolves. */
export async function rawRates(url: string, count: number, bytes: number): Promise<RawRates> {
  const { stream, close } = await openStream(url);
  const payload = Buffer.alloc(bytes, 'x');
  const publish = async () => {
    await stream.publish(MAIL, payload, { msgID: randomUUID() });
  };
  await inParallel(count / 4, WINDOW, publish);
  const publishPerSecond = await perSecond(count, () => inParallel(count, WINDOW, publish));
  const consumePerSecond = await perSecond(count, () => consume(stream, count));
  const fencedPerSecond = await perSecond(count, () => fenced(stream, payload, count));
  await close();
  return { publishPerSecond, consumePerSecond, fencedPerSecond };
}

/** How many messages a stream of the cell has stored since its creation: `mail`, `journal`. */
export async function taken(url: string, kind: 'mail' | 'journal'): Promise<number> {
  const nc = await connect({ servers: url });
  const manager = await jetstreamManager(nc);
  const { state } = await manager.streams.info(`troupe-${ENV}-${kind}`);
  await nc.close();
  return state.last_seq;
}

export type Raw = {
  /** Resolves with the server's acknowledgement. */
  readonly publish: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Sends one message at a time, at the caller's rate. */
export async function openRaw(url: string, bytes: number): Promise<Raw> {
  const { stream, close } = await openStream(url);
  const payload = Buffer.alloc(bytes, 'x');
  const publish = async () => {
    await stream.publish(MAIL, payload, { msgID: randomUUID() });
  };
  return { publish, close };
}

async function openStream(url: string): Promise<{ stream: JetStreamClient; close: Raw['close'] }> {
  // Like the runtime's connections: a stack trace for each request would cost more than the
  // request.
  const nc = await connect({ servers: url, noAsyncTraces: true });
  const manager = await jetstreamManager(nc);
  await manager.streams.add({ name: STREAM, subjects: ['raw.>'], discard: 'new' });
  return {
    stream: jetstream(nc),
    close: () => manager.streams.delete(STREAM).then(() => nc.close()),
  };
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
    const late = setTimeout(
      () => reject(new Error(`only ${seen} of ${count} arrived`)),
      DEADLINE_MS,
    );
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
