/**
 * What a cell keeps about the cards of remote agents, in its blobs: the last card of each URL, and
 * the key that signed the first signed one (trust on first use). All processes of the cell share
 * both, and they survive restarts.
 *
 * Invariant: of several processes that see a first signed card, one sets the key; the others get
 * it.
 */
import { createHash } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';

/** The part of the port `Blobs` that is used. */
export type CardBlobs = {
  put(name: string, bytes: Uint8Array): Promise<void>;
  get(name: string): Promise<Uint8Array | undefined>;
  delete(name: string): Promise<void>;
};

export type StoredCard = {
  /** as received */
  readonly text: string;
  readonly etag?: string;
  /** how long it may be used without asking, milliseconds */
  readonly freshMs: number;
  /** epoch milliseconds */
  readonly checkedAt: number;
  /** thumbprints of the keys that have signed it */
  readonly signers: readonly string[];
};

export interface CardStore {
  load(url: string): Promise<StoredCard | undefined>;
  save(url: string, card: StoredCard): Promise<void>;
  /** The key of the URL: the present one, or this one if there is none. */
  pin(url: string, thumbprint: string): Promise<string>;
  pinned(url: string): Promise<string | undefined>;
}

/** For the command line, which keeps keys in the configuration. */
export const noCardStore: CardStore = {
  load: () => Promise.resolve(undefined),
  save: () => Promise.resolve(),
  pin: (_, thumbprint) => Promise.resolve(thumbprint),
  pinned: () => Promise.resolve(undefined),
};

/** @throws (its methods) what the blobs throw */
export class BlobCardStore implements CardStore {
  readonly #blobs: Promise<CardBlobs>;

  constructor(blobs: Promise<CardBlobs>) {
    this.#blobs = blobs;
  }

  async load(url: string): Promise<StoredCard | undefined> {
    const bytes = await (await this.#blobs).get(cardOf(url));
    return bytes && (JSON.parse(Buffer.from(bytes).toString()) as StoredCard);
  }

  /** A blob cannot be changed: the former one is removed. A process that is faster wins. */
  async save(url: string, card: StoredCard): Promise<void> {
    const blobs = await this.#blobs;
    await blobs.delete(cardOf(url));
    await blobs.put(cardOf(url), Buffer.from(JSON.stringify(card))).catch(unlessTaken);
  }

  async pin(url: string, thumbprint: string): Promise<string> {
    const blobs = await this.#blobs;
    await blobs.put(pinOf(url), Buffer.from(thumbprint)).catch(unlessTaken);
    return (await this.pinned(url)) ?? thumbprint;
  }

  async pinned(url: string): Promise<string | undefined> {
    const bytes = await (await this.#blobs).get(pinOf(url));
    return bytes && Buffer.from(bytes).toString();
  }
}

function unlessTaken(error: unknown): void {
  if (!(error instanceof TroupeError) || error.code !== 'CONFLICT') throw error;
}

const nameOf = (url: string): string => createHash('sha256').update(url).digest('hex');
const cardOf = (url: string): string => `agent2agent/cards/${nameOf(url)}`;
const pinOf = (url: string): string => `agent2agent/keys/${nameOf(url)}`;
