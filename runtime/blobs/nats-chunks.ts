/**
 * Chunks: bytes as messages of a JetStream stream, one subject for each. They have no effect until
 * a message names them (nats-blobs.ts), so they may be stored twice and in any order.
 */
import {
  AckPolicy,
  DeliverPolicy,
  type JetStreamClient,
  jetstream,
  type JetStreamManager,
} from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/transport-node';
import { answered, ATTEMPT_MS, present } from './nats-requests.ts';

const CHUNK_BYTES = 256 * 1024;
/** Reserve for subject and headers below the server's limit of a message. */
const HEADER_BYTES = 2_048;
const IN_FLIGHT = 8;
/** Messages of one pull: 8 MB, far below the limit at which a server disconnects a slow client. */
const PULL_MESSAGES = 32;
/** A pull without messages for this time has lost its server or its consumer. */
const PULL_MS = 1_000;
/** Fewer are read one by one: a consumer costs more. */
const PULL_FROM = 4;
/** The server removes the consumer of a process that has died after this time. */
const CONSUMER_MS = 30_000;

export class NatsChunks {
  readonly #nc: NatsConnection;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;
  readonly #stream: string;

  constructor(nc: NatsConnection, manager: JetStreamManager, stream: string) {
    this.#nc = nc;
    this.#client = jetstream(nc, { timeout: ATTEMPT_MS });
    this.#manager = manager;
    this.#stream = stream;
  }

  /** Maximum bytes of one message: 256 KiB, or less if the server allows less. */
  get bytesMax(): number {
    const payload = this.#nc.info?.max_payload ?? CHUNK_BYTES + HEADER_BYTES;
    return Math.max(1, Math.min(CHUNK_BYTES, payload - HEADER_BYTES));
  }

  /** Resolves with their number when all are stored. @throws TroupeError UNAVAILABLE */
  async write(bytes: Uint8Array, subjectOf: (index: number) => string): Promise<number> {
    const each = this.bytesMax;
    const count = Math.ceil(bytes.length / each);
    const expect = { streamName: this.#stream };
    await inLanes(count, (index) =>
      answered('store a chunk of a blob', () => {
        const chunk = bytes.subarray(index * each, (index + 1) * each);
        return this.#client.publish(subjectOf(index), chunk, { expect });
      }),
    );
    return count;
  }

  /**
   * The stored chunks, by index. @param filter matches exactly the subjects of `subjectOf`
   * @throws TroupeError UNAVAILABLE
   */
  async read(
    count: number,
    filter: string,
    subjectOf: (index: number) => string,
  ): Promise<(Uint8Array | undefined)[]> {
    const found = new Array<Uint8Array | undefined>(count);
    if (count >= PULL_FROM) await this.#pull(filter, found).catch(() => {});
    // Chunks that were lost in transit, or a failed pull, are requested one by one.
    await inLanes(count, async (index) => {
      found[index] ??= await this.#one(subjectOf(index));
    });
    return found;
  }

  async #one(subject: string): Promise<Uint8Array | undefined> {
    const query = { last_by_subj: subject };
    const message = await answered('read a chunk of a blob', () =>
      present(this.#manager.streams.getMessage(this.#stream, query)),
    );
    return message?.data;
  }

  async #pull(filter: string, found: (Uint8Array | undefined)[]): Promise<void> {
    const { name, num_pending } = await this.#manager.consumers.add(this.#stream, {
      filter_subject: filter,
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.All,
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: nanos(CONSUMER_MS),
    });
    try {
      const consumer = await this.#client.consumers.get(this.#stream, name);
      for (let left = num_pending; left > 0; ) {
        const before = left;
        const max_messages = Math.min(PULL_MESSAGES, left);
        for await (const message of await consumer.fetch({ max_messages, expires: PULL_MS })) {
          const index = Number(message.subject.slice(message.subject.lastIndexOf('.') + 1));
          if (index < found.length) found[index] = message.data;
          left -= 1;
        }
        if (left === before) return;
      }
    } finally {
      // not awaited: the server also removes it after a while
      this.#manager.consumers.delete(this.#stream, name).catch(() => {});
    }
  }
}

/** Calls for 0 to count - 1, some at a time; the first error ends it. */
const inLanes = async (count: number, call: (index: number) => Promise<unknown>): Promise<void> => {
  let next = 0;
  let hasFailed = false;
  const lane = async (): Promise<void> => {
    while (next < count && !hasFailed) await call(next++);
  };
  const ending = () => {
    hasFailed = true;
  };
  const lanes = Array.from({ length: Math.min(IN_FLIGHT, count) }, lane);
  for (const one of lanes) one.catch(ending);
  await Promise.all(lanes);
};
