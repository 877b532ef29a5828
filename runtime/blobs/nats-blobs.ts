/**
 * NatsBlobs: Blobs on a JetStream stream. A blob is one message that names it, holding its bytes
 * or, when they are many, the number and hash of chunks that were stored before:
 *
 *   blb.{env}.{name}.m              headers: what the blob is; payload: its bytes, if they fit
 *   blb.{env}.{name}.c.{put}.{i}    chunk i of one put
 *
 * Invariants: the naming message is stored only if the name has none (one writer wins) and only
 * after all its chunks; so what has a name is whole. A put that died leaves chunks that nobody
 * sees, until the name is deleted.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  jetstream,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
  type StoredMsg,
} from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { TroupeError, errorData } from '../../protocols/errors.ts';
import { escapeToken, unescapeToken } from '../../protocols/subjects.ts';
import type { Blobs } from './blobs.ts';
import { blobTaken, checkBlobName } from './name.ts';

export type NatsBlobsOptions = { readonly stream: string; readonly env: string };

const CHUNK_BYTES = 256 * 1024;
/** Room that the headers of a message need below the server's limit. */
const HEADER_ROOM = 2_048;
const IN_FLIGHT = 8;
const TIMEOUT_MS = 5_000;
const PURGE_TIMEOUT_MS = 60_000;
const TRIES = 5;
const RETRY_MS = 200;
const HEADER = 'Troupe-Blob';

type Meta = {
  readonly put: string;
  readonly bytes: number;
  readonly sha256: string;
  /** 0: the bytes are in the naming message */
  readonly chunks: number;
};

export class NatsBlobs implements Blobs {
  readonly #nc: NatsConnection;
  readonly #stream: string;
  readonly #prefix: string;
  #client: JetStreamClient | undefined;
  #reader: Promise<JetStreamManager> | undefined;
  #purger: Promise<JetStreamManager> | undefined;

  constructor(nc: NatsConnection, { stream, env }: NatsBlobsOptions) {
    this.#nc = nc;
    this.#stream = stream;
    this.#prefix = `blb.${escapeToken(env)}`;
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    checkBlobName(name);
    const own = Uint8Array.from(bytes);
    const sha256 = hashOf(own);
    const present = await this.#meta(name);
    if (present) return checkSame(name, present.meta, sha256);
    const put = randomBytes(12).toString('hex');
    const size = this.#chunkBytes();
    const chunks = own.length <= size ? 0 : Math.ceil(own.length / size);
    await each(chunks, (i) =>
      this.#publish(this.#chunk(name, put, i), own.subarray(i * size, (i + 1) * size)),
    );
    await this.#name(name, { put, bytes: own.length, sha256, chunks }, own);
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    checkBlobName(name);
    const found = await this.#meta(name);
    if (!found) return undefined;
    const { meta, message } = found;
    const parts: Uint8Array[] = [];
    if (meta.chunks === 0) parts.push(message.data);
    await each(meta.chunks, async (i) => {
      const chunk = await this.#read(this.#chunk(name, meta.put, i));
      if (!chunk) throw corrupt(name, `chunk ${i} of ${meta.chunks} is missing`);
      parts[i] = chunk.data;
    });
    const whole = Buffer.concat(parts);
    if (whole.length !== meta.bytes || hashOf(whole) !== meta.sha256)
      throw corrupt(name, 'its bytes are not those that were put');
    return whole;
  }

  async delete(name: string): Promise<void> {
    checkBlobName(name);
    // The naming message first: nobody sees a blob whose chunks are going.
    for (const filter of [this.#named(name), `${this.#prefix}.${escapeToken(name)}.>`])
      await this.#purge(`delete blob ${name}`, filter);
  }

  async list(prefix: string): Promise<readonly string[]> {
    const manager = await this.#manage();
    const info = await ask('list blobs', () =>
      manager.streams.info(this.#stream, { subjects_filter: `${this.#prefix}.*.m` }),
    );
    return Object.keys(info.state.subjects ?? {})
      .map((subject) => unescapeToken(subject.slice(this.#prefix.length + 1, -'.m'.length)))
      .filter((name) => name.startsWith(prefix))
      .sort();
  }

  /** Stores the naming message; whether an unanswered one is stored is found out by reading. */
  async #name(name: string, meta: Meta, bytes: Uint8Array): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        const payload = meta.chunks === 0 ? bytes : new Uint8Array(0);
        return await this.#publishOnce(this.#named(name), payload, meta);
      } catch (error) {
        const present = await this.#meta(name);
        if (present && present.meta.put !== meta.put) {
          const filter = `${this.#prefix}.${escapeToken(name)}.c.${meta.put}.>`;
          await this.#purge(`put blob ${name}`, filter);
          return checkSame(name, present.meta, meta.sha256);
        }
        if (present) return;
        if (attempt >= TRIES) throw unavailable(`put blob ${name}`, error);
      }
    }
  }

  async #publish(subject: string, bytes: Uint8Array): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        // A copy that was stored without an answer does no harm: the last one of a subject is read.
        return await this.#publishOnce(subject, bytes);
      } catch (error) {
        if (attempt >= TRIES) throw unavailable(`store ${subject}`, error);
      }
    }
  }

  async #publishOnce(subject: string, bytes: Uint8Array, meta?: Meta): Promise<void> {
    this.#client ??= jetstream(this.#nc, { timeout: TIMEOUT_MS });
    const named = headers();
    if (meta) named.set(HEADER, JSON.stringify(meta));
    await this.#client.publish(subject, bytes, {
      timeout: TIMEOUT_MS,
      headers: named,
      expect: { streamName: this.#stream, ...(meta ? { lastSubjectSequence: 0 } : {}) },
    });
  }

  async #meta(name: string): Promise<{ meta: Meta; message: StoredMsg } | undefined> {
    const message = await this.#read(this.#named(name));
    if (!message) return undefined;
    try {
      return { meta: JSON.parse(message.header.get(HEADER)) as Meta, message };
    } catch (cause) {
      throw corrupt(name, 'its naming message can not be read', cause);
    }
  }

  async #read(subject: string): Promise<StoredMsg | undefined> {
    const manager = await this.#manage();
    return ask(`read ${subject}`, async () => {
      try {
        return (
          (await manager.streams.getMessage(this.#stream, { last_by_subj: subject })) ?? undefined
        );
      } catch (error) {
        const isAbsent =
          error instanceof JetStreamApiError && error.code === JetStreamApiCodes.NoMessageFound;
        if (isAbsent) return undefined;
        throw error;
      }
    });
  }

  #manage(): Promise<JetStreamManager> {
    this.#reader ??= jetstreamManager(this.#nc, { timeout: TIMEOUT_MS, checkAPI: false });
    return this.#reader;
  }

  async #purge(what: string, filter: string): Promise<void> {
    this.#purger ??= jetstreamManager(this.#nc, { timeout: PURGE_TIMEOUT_MS, checkAPI: false });
    const manager = await this.#purger;
    await ask(what, () => manager.streams.purge(this.#stream, { filter }));
  }

  #chunkBytes(): number {
    const max = (this.#nc.info?.max_payload ?? CHUNK_BYTES + HEADER_ROOM) - HEADER_ROOM;
    return Math.min(CHUNK_BYTES, max);
  }

  #named(name: string): string {
    return `${this.#prefix}.${escapeToken(name)}.m`;
  }

  #chunk(name: string, put: string, i: number): string {
    return `${this.#prefix}.${escapeToken(name)}.c.${put}.${i}`;
  }
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const checkSame = (name: string, { sha256 }: Meta, other: string): void => {
  if (sha256 !== other) throw blobTaken(name);
};

/** Calls for 0 to count - 1, so many at a time; the first error ends it. */
async function each(count: number, call: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, count) }, lane));
}

/** Asks again while there is no answer: reads and purges may be repeated. */
async function ask<T>(what: string, call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (error instanceof TroupeError) throw error;
      if (attempt >= TRIES || error instanceof JetStreamApiError) throw unavailable(what, error);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

const unavailable = (what: string, cause: unknown): TroupeError =>
  new TroupeError('UNAVAILABLE', `${what}: ${errorData(cause).message}`, { cause });

const corrupt = (name: string, why: string, cause?: unknown): TroupeError =>
  new TroupeError('INTERNAL', `blob ${name} is damaged: ${why}`, {
    details: { reason: 'CORRUPT', name },
    ...(cause === undefined ? {} : { cause }),
  });
