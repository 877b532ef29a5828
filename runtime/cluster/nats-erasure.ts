/**
 * NatsErasure: removes bytes from the files of JetStream. The server keeps removed messages in its
 * blocks, which are files of at most 8 MiB, until nothing else is in them, or until most of a block
 * is removed. So messages that stay are stored in new blocks, and then the old ones are removed:
 *
 *  - mail, journal: every subject gets new entries, and is trimmed behind them by its owner;
 *  - blobs: every blob that stays is stored again;
 *  - transcripts, dead letters, history: positions must not change, so each trim there overwrites
 *    its entries (`nats-log.ts`).
 *
 * With several replicas, the servers also keep messages in their Raft logs until they compact them,
 * which they do by themselves every few minutes: there is no request that forces it.
 */
import { jetstreamManager, type JetStreamManager, jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { TroupeError } from '../../protocols/errors.ts';
import { escapeToken } from '../../protocols/subjects.ts';
import type { NatsBlobs } from '../blobs/nats-blobs.ts';
import { answered } from '../blobs/nats-requests.ts';
import type { ErasableStreams, StreamEnds } from '../erasing.ts';
import type { Streams } from './nats-streams.ts';

const API_MS = 5_000;
const PURGE_MS = 60_000;
/** More than the largest block of a server, so that the next message is in another one. */
const FILL_BYTES = 8.5 * 2 ** 20;
const FILL_MESSAGE_BYTES = 512 * 1024;
const HEADER_BYTES = 2_048;

export class NatsErasure implements ErasableStreams {
  readonly #nc: NatsConnection;
  readonly #streams: Streams;
  readonly #blobs: NatsBlobs;
  readonly #env: string;
  #opened: Promise<{ api: JetStreamManager; purger: JetStreamManager }> | undefined;

  constructor(
    nc: NatsConnection,
    { streams, blobs, env }: { streams: Streams; blobs: NatsBlobs; env: string },
  ) {
    this.#nc = nc;
    this.#streams = streams;
    this.#blobs = blobs;
    this.#env = env;
  }

  async begin(): Promise<StreamEnds> {
    const { mail, journal, blobs } = this.#streams;
    const token = escapeToken(this.#env);
    return {
      [mail]: await this.#fill(mail, `mbx.${token}.fill`),
      [journal]: await this.#fill(journal, `jrn.${token}.fill`),
      [blobs]: await this.#fill(blobs, `blb.${token}.fill`),
    };
  }

  async finish(ends: StreamEnds, signal: AbortSignal): Promise<readonly string[]> {
    const { mail, journal, kept, history, blobs } = this.#streams;
    await this.#blobs.storeAgain(ends[blobs] ?? 0, signal);
    for (const stream of [mail, journal]) await this.#assertPast(stream, ends[stream] ?? 0);
    return [mail, journal, kept, history, blobs];
  }

  async *subjects(prefix: string): AsyncIterable<string> {
    const { api } = await this.#open();
    const { state } = await answered('list the transcripts', () =>
      api.streams.info(this.#streams.kept, { subjects_filter: `${prefix}>` }),
    );
    yield* Object.keys(state.subjects ?? {});
  }

  /** Position of the last message in the present block. */
  async #fill(stream: string, subject: string): Promise<number> {
    const { purger } = await this.#open();
    const client = jetstream(this.#nc, { timeout: API_MS });
    const payloadMax = this.#nc.info?.max_payload ?? FILL_MESSAGE_BYTES;
    const filler = new Uint8Array(Math.min(FILL_MESSAGE_BYTES, payloadMax - HEADER_BYTES));
    let last = 0;
    for (let bytes = 0; bytes < FILL_BYTES; bytes += filler.length)
      last = await answered(`fill a block of ${stream}`, async () => {
        const { seq } = await client.publish(subject, filler, { expect: { streamName: stream } });
        return seq;
      });
    await answered(`empty ${subject}`, () => purger.streams.purge(stream, { filter: subject }));
    return last;
  }

  /** @throws TroupeError UNAVAILABLE when something that was stored before is left */
  async #assertPast(stream: string, end: number): Promise<void> {
    const { api } = await this.#open();
    const { state } = await answered(`read ${stream}`, () => api.streams.info(stream));
    if (state.messages === 0 || state.first_seq > end) return;
    const left = await answered(`read ${stream}`, () =>
      api.streams.getMessage(stream, { seq: state.first_seq }),
    );
    throw new TroupeError(
      'UNAVAILABLE',
      `${stream} still has entry ${state.first_seq} of ${left?.subject ?? 'a subject'}`,
    );
  }

  #open() {
    this.#opened ??= (async () => {
      const open = (timeout: number) => jetstreamManager(this.#nc, { timeout, checkAPI: false });
      return { api: await open(API_MS), purger: await open(PURGE_MS) };
    })();
    return this.#opened;
  }
}
