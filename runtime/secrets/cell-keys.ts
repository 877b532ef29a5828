/**
 * CellKeys: the keys that all processes of a cell need, in the cell's own blobs. Digests of the
 * keys are stored unencrypted, so that each process can check that it has the right ones; the keys
 * themselves are there only when the cell has a join secret, encrypted with it.
 *
 *   cell-keys/{cell}/digests            which keys the cell has, JSON; written once
 *   cell-keys/{cell}/sealed.{digest}    the keys of these digests, as of passphrase.ts
 *
 * Invariants:
 *  1. The blob of digests decides, and is written once: processes that start at once agree on one
 *     set, whichever of them is killed.
 *  2. A key that a process has is never replaced. Keys that others should use are stored, in the
 *     cell or in this process's data folder, before the digests name them.
 */
import { createHash } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { openWithPassphrase, sealWithPassphrase } from './passphrase.ts';

/** One key, and where this process keeps it. */
export type KeyPlace = {
  readonly name: string;
  /** true: the operator gives it to every process, and may change it */
  readonly managed: boolean;
  /** its text; undefined if there is none. @throws for a text that is not a key */
  readonly read: () => Promise<string | undefined>;
  /** false when a key already exists, which is kept */
  readonly write: (text: string) => Promise<boolean>;
  readonly remove: () => Promise<void>;
  readonly make: () => Promise<string>;
};

export type CellKeysOptions = {
  readonly blobs: Blobs;
  readonly cell: string;
  readonly places: readonly KeyPlace[];
  /** the join secret */
  readonly secret?: string | undefined;
};

/** Why a process may not use the cell. */
export type KeysRefusal = 'WRONG_SECRET' | 'NO_SECRET' | 'NOT_SHARED' | 'OTHER_KEYS';

type Texts = ReadonlyMap<string, string>;
type Digests = Readonly<Record<string, string>>;

/**
 * Resolves when every place holds the cell's key.
 * @throws TroupeError with a KeysRefusal as `details.reason`; INVALID_ARGUMENT for a short secret;
 *   UNAVAILABLE
 */
export async function joinCellKeys(options: CellKeysOptions): Promise<void> {
  const cell = new CellKeys(options);
  await cell.join((await cell.digests()) ?? (await cell.create()));
}

/**
 * Removes the record of a cell's keys, so that the next process makes new ones. Processes that have
 * the former keys must not run. May be repeated.
 * @param secretOnly removes only the keys that the join secret encrypts: a process that has the
 *   keys stores them again, with its secret
 * @returns how many blobs were removed
 */
export async function resetCellKeys(
  { blobs }: { readonly blobs: Blobs },
  cell: string,
  { secretOnly }: { readonly secretOnly: boolean },
): Promise<number> {
  const folder = `cell-keys/${cell}/`;
  const sealed = await blobs.list(`${folder}sealed.`);
  const digests = secretOnly ? [] : await blobs.list(`${folder}digests`);
  // The digests last: while they exist, no process makes new keys.
  for (const name of [...sealed, ...digests]) await blobs.delete(name);
  return sealed.length + digests.length;
}

class CellKeys {
  readonly #o: CellKeysOptions;
  readonly #digestsName: string;
  /** what this process has sealed: opening it again would derive its key again, half a second */
  #sealed: { readonly name: string; readonly texts: Texts } | undefined;

  constructor(options: CellKeysOptions) {
    this.#o = options;
    this.#digestsName = `cell-keys/${options.cell}/digests`;
  }

  async digests(): Promise<Digests | undefined> {
    const bytes = await this.#o.blobs.get(this.#digestsName);
    return bytes && (JSON.parse(Buffer.from(bytes).toString()) as Digests);
  }

  /** Offers this process's keys, and new ones where it has none; the digests that hold then. */
  async create(): Promise<Digests> {
    const { places, secret } = this.#o;
    const texts = new Map<string, string>();
    const made: KeyPlace[] = [];
    for (const place of places) {
      let text = await place.read();
      if (text === undefined) {
        text = await place.make();
        // Without a secret this folder is the only place that the keys are in.
        if (place.managed || secret === undefined) {
          if ((await place.write(text)) && !place.managed) made.push(place);
          text = (await place.read()) ?? text;
        }
      }
      texts.set(place.name, text);
    }
    const offered = digestsOf(texts);
    if (secret !== undefined) await this.#seal(offered, texts, secret);
    const decided = await this.#decide(offered);
    if (keyOf(decided) !== keyOf(offered)) {
      // Nothing used these keys yet.
      for (const place of made) await place.remove();
      if (secret !== undefined) await this.#o.blobs.delete(this.#sealedName(offered));
    }
    return decided;
  }

  async join(digests: Digests): Promise<void> {
    const { places, secret } = this.#o;
    const own = await this.#own();
    const missing = places.filter(({ name, managed }) => !managed && !own.has(name));
    for (const { name, managed } of places) {
      const text = own.get(name);
      if (managed || text === undefined) continue;
      if (!digestsIn(text).includes(digests[name] ?? '')) throw refusal('OTHER_KEYS');
    }
    const name = this.#sealedName(digests);
    const sealed = await this.#o.blobs.get(name);
    if (secret === undefined) {
      if (missing.length > 0) throw refusal(sealed ? 'NO_SECRET' : 'NOT_SHARED');
      return;
    }
    if (!sealed) return this.#share(digests, own, secret);
    const known = this.#sealed?.name === name ? this.#sealed.texts : undefined;
    const texts = known ?? (await this.#open(sealed, secret));
    for (const place of missing) await this.#take(place, texts.get(place.name), digests);
  }

  async #take(place: KeyPlace, text: string | undefined, digests: Digests): Promise<void> {
    if (text === undefined)
      throw new TroupeError(
        'UNAUTHORIZED',
        `the configuration of the other processes contains the cell's key ${place.name}: configure ` +
          'the same key for this process',
      );
    if (!digestsIn(text).includes(digests[place.name] ?? ''))
      throw new TroupeError('INTERNAL', `the cell's record of its key ${place.name} is damaged`);
    if (await place.write(text)) return;
    // Another process of the same folder was faster.
    if (!digestsIn((await place.read()) ?? '').includes(digests[place.name] ?? ''))
      throw refusal('OTHER_KEYS');
  }

  /**
   * For a cell that was started without a secret: this process has its keys. A key that the
   * operator has changed since is left out: each process gets it from the operator.
   */
  async #share(digests: Digests, own: Texts, secret: string): Promise<void> {
    const shared = new Map(
      [...own].filter(([name, text]) => digestsIn(text).includes(digests[name] ?? '')),
    );
    if (this.#o.places.some(({ name, managed }) => !managed && !shared.has(name)))
      throw refusal('NOT_SHARED');
    await this.#seal(digests, shared, secret);
  }

  async #seal(digests: Digests, texts: Texts, secret: string): Promise<void> {
    const { blobs } = this.#o;
    const contents = Buffer.from(JSON.stringify(Object.fromEntries(texts)));
    const name = this.#sealedName(digests);
    const sealed = await sealWithPassphrase(contents, secret, this.#context);
    try {
      await blobs.put(name, sealed);
      this.#sealed = { name, texts };
    } catch (error) {
      if (!(error instanceof TroupeError) || error.code !== 'CONFLICT') throw error;
      // Another process has shared the same keys: with the same secret, if this one opens them.
      const theirs = await blobs.get(name);
      if (theirs) await this.#open(theirs, secret);
    }
  }

  async #open(sealed: Uint8Array, secret: string): Promise<Texts> {
    try {
      const contents = await openWithPassphrase(sealed, secret, this.#context);
      return new Map(Object.entries(JSON.parse(contents.toString()) as Record<string, string>));
    } catch (cause) {
      if (cause instanceof TroupeError && cause.code === 'UNAUTHORIZED')
        throw refusal('WRONG_SECRET', cause);
      throw cause;
    }
  }

  async #decide(offered: Digests): Promise<Digests> {
    try {
      await this.#o.blobs.put(this.#digestsName, Buffer.from(JSON.stringify(offered)));
      return offered;
    } catch (error) {
      if (!(error instanceof TroupeError) || error.code !== 'CONFLICT') throw error;
    }
    const decided = await this.digests();
    if (decided) return decided;
    throw new TroupeError('UNAVAILABLE', "the record of the cell's keys cannot be read back");
  }

  async #own(): Promise<Texts> {
    const own = new Map<string, string>();
    for (const { name, read } of this.#o.places) {
      const text = await read();
      if (text !== undefined) own.set(name, text);
    }
    return own;
  }

  #sealedName(digests: Digests): string {
    return `cell-keys/${this.#o.cell}/sealed.${keyOf(digests)}`;
  }

  get #context(): string {
    return `troupe keys of the cell ${this.#o.cell}`;
  }
}

const refusal = (reason: KeysRefusal, cause?: unknown) =>
  new TroupeError('UNAUTHORIZED', `the keys of the cell cannot be used here: ${reason}`, {
    details: { reason },
    cause,
  });

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** One for each key of a text: of a JWKS several. A key has 256 random bits and is not guessed. */
const digestsIn = (text: string): readonly string[] =>
  materialIn(text).map((key) => sha256(`troupe key of a cell\0${key}`));

/** The private part of each JWK, or the complete text. */
function materialIn(text: string): readonly string[] {
  if (!text.trimStart().startsWith('{')) return [text.trim()];
  const jwk = JSON.parse(text) as { d?: string; keys?: readonly { d?: string }[] };
  return (jwk.keys ?? [jwk]).map(({ d = '' }) => d);
}

const digestsOf = (texts: Texts): Digests =>
  Object.fromEntries([...texts].map(([name, text]) => [name, digestsIn(text)[0] ?? '']));

const keyOf = (digests: Digests): string =>
  sha256(JSON.stringify(Object.entries(digests).sort())).slice(0, 32);
