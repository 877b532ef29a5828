/**
 * NatsBlobs: Blobs on a JetStream stream. A blob is the message that names it: small bytes are in
 * that message, larger ones are chunks that were stored before it (nats-chunks.ts).
 *
 * Invariants: the naming message is stored only if the name has none (the fence of its subject, so
 * one writer wins), and only after all chunks of its put. Chunks belong to one put, and other
 * processes never remove chunks of a put that may be running. So a named blob is complete; a hash
 * verifies every read. An interrupted put leaves invisible chunks: 20 minutes later the next put or
 * delete of the name removes them, or `sweep`. Nothing depends on sequence numbers across a restart
 * of the server: version
 * 2.9 may start from one again.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  jetstream,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
  type StoredMsg,
} from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { TroupeError } from '../../protocols/errors.ts';
import type { Blobs } from './blobs.ts';
import { blobTaken, checkBlobName } from './name.ts';
import { NatsChunks } from './nats-chunks.ts';
import { answered, ATTEMPT_MS, present } from './nats-requests.ts';
import { BlobSubjects } from './nats-subjects.ts';

export type NatsBlobsOptions = {
  /** name of the stream with the subjects `blb.{env}.>` */
  readonly stream: string;
  readonly env: string;
  /** age after which chunks without a name are abandoned, milliseconds; default 20 minutes */
  readonly abandonedMs?: number;
};

/**
 * That the process of a put has ended does not end its put: its last message may still be on the
 * way, and the fence of the name does not know the chunks. A message arrives within seven minutes
 * after the put gave up: half a minute of attempts, and two pings of two minutes, twice, until both
 * ends have closed a connection that is silent.
 */
const ABANDONED_MS = 1_200_000;
const PUT_MS_MAX = 600_000;
/** A purge visits all blocks of a stream. */
const PURGE_MS = 60_000;
const HEADER = 'Troupe-Blob';

type Meta = {
  readonly put: string;
  readonly bytes: number;
  readonly sha256: string;
  /** 0: the bytes are in the naming message */
  readonly chunks: number;
  /** the put whose bytes were stored again as this one */
  readonly from?: string;
};

type Named = { readonly meta: Meta; readonly seq: number; readonly data: Uint8Array };

type Opened = {
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly purger: JetStreamManager;
  readonly chunks: NatsChunks;
};

export class NatsBlobs implements Blobs {
  readonly #nc: NatsConnection;
  readonly #stream: string;
  readonly #abandonedMs: number;
  readonly #subjects: BlobSubjects;
  #opened: Promise<Opened> | undefined;

  constructor(nc: NatsConnection, options: NatsBlobsOptions) {
    this.#nc = nc;
    this.#stream = options.stream;
    this.#abandonedMs = options.abandonedMs ?? ABANDONED_MS;
    this.#subjects = new BlobSubjects(options.env);
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    checkBlobName(name);
    const untilMs = performance.now() + PUT_MS_MAX;
    const own = Uint8Array.from(bytes);
    const sha256 = hashOf(own);
    const before = await this.#find(name);
    if (before) return checkSame(name, before.meta, sha256);
    const { chunks } = await this.#open();
    const put = randomBytes(12).toString('hex');
    const isInline = own.length <= chunks.bytesMax;
    const count = isInline
      ? 0
      : await chunks.write(own, (index) => this.#subjects.chunk(name, put, index));
    if (performance.now() > untilMs)
      throw new TroupeError('UNAVAILABLE', `blob ${name} took too long to store`);
    const meta: Meta = { put, bytes: own.length, sha256, chunks: count };
    const holder = (await this.#claim(name, meta, isInline ? own : new Uint8Array(0)))!;
    if (isInline) return checkSame(name, holder, sha256);
    if (holder.put !== put) await this.#purge(this.#subjects.chunksOfPut(name, put));
    checkSame(name, holder, sha256);
    await this.#dropAbandoned(this.#subjects.chunksOfName(name));
  }

  /** @throws also TroupeError INTERNAL, reason CORRUPT, when chunks are missing */
  async get(name: string): Promise<Uint8Array | undefined> {
    checkBlobName(name);
    const found = await this.#find(name);
    if (!found) return undefined;
    const { meta } = found;
    if (meta.chunks === 0) return whole(name, meta, [found.data]);
    const { chunks } = await this.#open();
    const subjectOf = (index: number) => this.#subjects.chunk(name, meta.put, index);
    const filter = this.#subjects.chunksOfPut(name, meta.put);
    const parts = await chunks.read(meta.chunks, filter, subjectOf);
    const there = parts.filter((part) => part !== undefined);
    if (there.length === meta.chunks) return whole(name, meta, there);
    // It may have been deleted in the meantime, which is not damage.
    if ((await this.#find(name))?.meta.put !== meta.put) return this.get(name);
    throw corrupt(name, `${meta.chunks - there.length} of its ${meta.chunks} chunks are missing`);
  }

  async delete(name: string): Promise<void> {
    checkBlobName(name);
    // Another process may store it again meanwhile (`storeAgain`).
    for (let found = await this.#find(name); found; found = await this.#find(name)) {
      // first, so that no reader sees a blob whose chunks are being removed
      await this.#unname(name, found);
      if (found.meta.chunks > 0)
        await this.#purge(this.#subjects.chunksOfPut(name, found.meta.put));
    }
    await this.#dropAbandoned(this.#subjects.chunksOfName(name));
  }

  async list(prefix: string): Promise<readonly string[]> {
    const subjects = await this.#stored(this.#subjects.namedBelow(prefix));
    const names = subjects.map((subject) => this.#subjects.nameOf(subject));
    return names.filter((name) => name.startsWith(prefix)).sort();
  }

  /**
   * Removes abandoned chunks below the prefix, which puts of dead processes left. May be repeated,
   * and may run in several processes at once.
   */
  async sweep(prefix: string): Promise<void> {
    await this.#dropAbandoned(this.#subjects.chunksBelow(prefix));
  }

  async dropUnfinished(prefix: string, isGivenUp: (name: string) => boolean): Promise<void> {
    await this.#dropUnnamed(this.#subjects.chunksBelow(prefix), async (subject) => {
      const { name } = this.#subjects.putOf(subject);
      return name.startsWith(prefix) && isGivenUp(name);
    });
  }

  /**
   * Stores every blob again that has a message at or before a position of the stream, so that the
   * files of the server that contain them are removed, with what they have of deleted blobs.
   * @throws TroupeError UNAVAILABLE while a put that began before is under way, or is not yet
   * abandoned; the signal's reason
   */
  async storeAgain(upTo: number, signal: AbortSignal): Promise<void> {
    const { manager } = await this.#open();
    for (;;) {
      signal.throwIfAborted();
      const { state } = await answered('read the state of the blobs', () =>
        manager.streams.info(this.#stream),
      );
      if (state.messages === 0 || state.first_seq > upTo) return;
      const query = { seq: state.first_seq };
      const first = await answered('read the oldest blob', () =>
        present(manager.streams.getMessage(this.#stream, query)),
      );
      if (first) await this.#renew(first);
    }
  }

  /** @param oldest a message of the blob that is to be stored again */
  async #renew({ subject, seq }: StoredMsg): Promise<void> {
    const { name, put } = this.#subjects.holderOf(subject);
    const found = await this.#find(name);
    if (put === undefined ? found?.seq === seq : found?.meta.put === put)
      return this.#copy(name, found!);
    // What an interrupted `#copy` left.
    if (found && (put === undefined || found.meta.from === put))
      return this.#dropCopied(name, found);
    await this.#dropAbandoned(this.#subjects.chunksOfName(name));
    if (await this.#last(subject))
      throw new TroupeError(
        'UNAVAILABLE',
        `blob ${name} is being stored, or its process has died in the last 20 minutes`,
      );
  }

  async #copy(name: string, found: Named): Promise<void> {
    const bytes = await this.get(name);
    if (bytes === undefined) return;
    const { chunks } = await this.#open();
    const { meta } = found;
    const put = randomBytes(12).toString('hex');
    const subjectOf = (index: number) => this.#subjects.chunk(name, put, index);
    const count = meta.chunks > 0 ? await chunks.write(bytes, subjectOf) : 0;
    const next: Meta = { ...meta, put, chunks: count, from: meta.put };
    const inline = count > 0 ? new Uint8Array(0) : bytes;
    const holder = await this.#claim(name, next, inline, found.seq);
    if (holder?.put === put) return this.#dropCopied(name, (await this.#find(name)) ?? found);
    if (count > 0) await this.#purge(this.#subjects.chunksOfPut(name, put));
  }

  /** Removes what the blob was before it was stored again. */
  async #dropCopied(name: string, { meta, seq }: Named): Promise<void> {
    const { purger } = await this.#open();
    const filter = this.#subjects.named(name);
    await answered(`remove ${filter}`, () => purger.streams.purge(this.#stream, { filter, seq }));
    if (meta.from !== undefined) await this.#purge(this.#subjects.chunksOfPut(name, meta.from));
  }

  /**
   * Stores the naming message, unless another one than at `after` exists. Resolves with the stored
   * one; undefined when that at `after` was deleted.
   */
  async #claim(
    name: string,
    meta: Meta,
    payload: Uint8Array,
    after = 0,
  ): Promise<Meta | undefined> {
    const { client } = await this.#open();
    const header = headers();
    header.set(HEADER, JSON.stringify(meta));
    const expect = { streamName: this.#stream, lastSubjectSequence: after };
    return answered(`name blob ${name}`, async () => {
      try {
        await client.publish(this.#subjects.named(name), payload, { headers: header, expect });
        return meta;
      } catch (error) {
        // Refused or unanswered: the stored message decides. If there is none, the same fence may
        // be tried again: only one of both attempts can be stored.
        const holder = await this.#find(name);
        if (holder && holder.seq !== after) return holder.meta;
        if (!holder && after > 0) return undefined;
        throw error;
      }
    });
  }

  async #unname(name: string, { meta, seq }: Named): Promise<void> {
    const { manager } = await this.#open();
    await answered(`delete blob ${name}`, async () => {
      try {
        await manager.streams.deleteMessage(this.#stream, seq, false);
      } catch (error) {
        // unanswered, or another process deleted it: the stored message decides
        if ((await this.#find(name))?.meta.put === meta.put) throw error;
      }
    });
  }

  async #find(name: string): Promise<Named | undefined> {
    const message = await this.#last(this.#subjects.named(name));
    if (!message) return undefined;
    try {
      const meta = JSON.parse(message.header.get(HEADER)) as Meta;
      return { meta, seq: message.seq, data: message.data };
    } catch (cause) {
      throw corrupt(name, 'its naming message cannot be read', cause);
    }
  }

  async #last(subject: string): Promise<StoredMsg | undefined> {
    const { manager } = await this.#open();
    return answered(`read ${subject}`, () =>
      present(manager.streams.getMessage(this.#stream, { last_by_subj: subject })),
    );
  }

  /** Subjects with a message that match a filter. The client requests page by page. */
  async #stored(filter: string): Promise<string[]> {
    const { manager } = await this.#open();
    const { state } = await answered(`list ${filter}`, () =>
      manager.streams.info(this.#stream, { subjects_filter: filter }),
    );
    return Object.keys(state.subjects ?? {});
  }

  /** Abandoned puts among the chunks that match a filter: they have no name, and are old. */
  async #dropAbandoned(filter: string): Promise<void> {
    await this.#dropUnnamed(filter, (subject) => this.#isAbandoned(subject));
  }

  async #dropUnnamed(filter: string, isOver: (chunk: string) => Promise<boolean>): Promise<void> {
    const puts = new Map<string, string>();
    for (const subject of await this.#stored(filter)) {
      const { name, put } = this.#subjects.putOf(subject);
      puts.set(this.#subjects.chunksOfPut(name, put), subject);
    }
    for (const [chunks, subject] of puts) {
      const { name, put } = this.#subjects.putOf(subject);
      const holder = await this.#find(name);
      if (holder?.meta.put !== put && (await isOver(subject))) await this.#purge(chunks);
    }
  }

  /** A lower bound of the server's time: the time of the stream's last message. */
  async #isAbandoned(chunk: string): Promise<boolean> {
    const stored = await this.#last(chunk);
    if (!stored) return false;
    const { manager } = await this.#open();
    const { state } = await answered('read the state of the blobs', () =>
      manager.streams.info(this.#stream),
    );
    return Date.parse(state.last_ts) - stored.time.getTime() >= this.#abandonedMs;
  }

  async #purge(filter: string): Promise<void> {
    const { purger } = await this.#open();
    await answered(`remove ${filter}`, () => purger.streams.purge(this.#stream, { filter }));
  }

  #open(): Promise<Opened> {
    this.#opened ??= this.#openNow();
    return this.#opened;
  }

  /** Asks the server nothing. */
  async #openNow(): Promise<Opened> {
    const nc = this.#nc;
    const manager = await jetstreamManager(nc, { timeout: ATTEMPT_MS, checkAPI: false });
    const purger = await jetstreamManager(nc, { timeout: PURGE_MS, checkAPI: false });
    const chunks = new NatsChunks(nc, manager, this.#stream);
    return { client: jetstream(nc, { timeout: ATTEMPT_MS }), manager, purger, chunks };
  }
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const checkSame = (name: string, { sha256 }: Meta, other: string): void => {
  if (sha256 !== other) throw blobTaken(name);
};

const whole = (name: string, meta: Meta, parts: readonly Uint8Array[]): Uint8Array => {
  const bytes = Buffer.concat(parts);
  if (bytes.length === meta.bytes && hashOf(bytes) === meta.sha256) return bytes;
  throw corrupt(name, 'its bytes do not match its hash');
};

const corrupt = (name: string, why: string, cause?: unknown): TroupeError =>
  new TroupeError('INTERNAL', `blob ${name} is damaged: ${why}`, {
    details: { reason: 'CORRUPT', name },
    cause,
  });
