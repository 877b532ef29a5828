/**
 * Address: the name of an actor, `tenant/type/key`, and the fixed hash that assigns it to a shard.
 * The same address names the same actor on every machine.
 *
 * `tenant` and `type` match [a-z0-9][a-z0-9_-]{0,62}. `key` is 1 to 512 UTF-8 bytes of well-formed
 * text without control characters, so it may contain `/`, `:` and `.`. Because `tenant` and `type`
 * contain no `/`, the text is unambiguous without escaping. subjects.ts escapes an address for use
 * in a subject.
 */
import { TroupeError } from './errors.ts';

declare const brand: unique symbol;
/** A valid `tenant/type/key`. Only `address` and `parseAddress` create one. */
export type Address = string & { readonly [brand]: 'Address' };

/** The tenant when none is named. */
export const DEFAULT_TENANT = 'default';

export type AddressParts = { readonly tenant: string; readonly type: string; readonly key: string };

/** Maximum size of a key in UTF-8 bytes. */
export const ADDRESS_KEY_BYTES_MAX = 512;

const FORM = 'write tenant/type/key';
const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
// C0, DEL and C1 controls, and lone surrogates, which have no UTF-8 encoding.
const UNFIT = /[\u0000-\u001f\u007f-\u009f]|\p{Surrogate}/u;
const WHOLE = /^[a-z0-9][a-z0-9_-]{0,62}\/[a-z0-9][a-z0-9_-]{0,62}\/./su;
/** A text with at most this many UTF-16 units never exceeds ADDRESS_KEY_BYTES_MAX. */
const KEY_UNITS_SURE = Math.floor(ADDRESS_KEY_BYTES_MAX / 3);

// Programs in JavaScript may pass other values, which the pattern would accept as text.
const isName = (name: string): boolean => typeof name === 'string' && NAME.test(name);

const keyFits = (key: string): boolean =>
  key.length <= KEY_UNITS_SURE || Buffer.byteLength(key, 'utf8') <= ADDRESS_KEY_BYTES_MAX;

/**
 * The address of an actor.
 *
 * @throws TroupeError INVALID_ARGUMENT; names the part and the rule it violates
 * @example
 * ```ts
 * import { address } from 'troupe';
 *
 * assert.equal(address('default', 'order', '4711'), 'default/order/4711');
 * assert.throws(() => address('default', 'order', ''), { code: 'INVALID_ARGUMENT' });
 * ```
 */
export const address = (tenant: string, type: string, key: string): Address => {
  if (!isName(tenant)) throw nameError('tenant', tenant);
  if (!isName(type)) throw nameError('type', type);
  if (typeof key !== 'string')
    throw invalid(`the key of an actor address must be a text, not ${String(key)}`);
  if (key === '')
    throw invalid(`the key of an actor address must not be empty (${tenant}/${type}/)`);
  if (UNFIT.test(key)) {
    throw invalid(
      `the key ${JSON.stringify(key.slice(0, 80))} of an actor address has a control character or a lone surrogate`,
    );
  }
  if (!keyFits(key)) {
    const bytes = Buffer.byteLength(key, 'utf8');
    throw invalid(
      `the key of an actor address has ${bytes} UTF-8 bytes, at most ${ADDRESS_KEY_BYTES_MAX} are allowed`,
    );
  }
  return `${tenant}/${type}/${key}` as Address;
};

/**
 * The parts of an address.
 *
 * @throws TroupeError INVALID_ARGUMENT; says what is wrong
 * @example
 * ```ts
 * import { parseAddress } from 'troupe';
 *
 * const { type, key } = parseAddress('default/order/2026/4711');
 * assert.deepEqual([type, key], ['order', '2026/4711']);
 * ```
 */
export const parseAddress = (text: string): AddressParts => {
  if (typeof text !== 'string') throw invalid(`${String(text)} is not an actor address: ${FORM}`);
  const first = text.indexOf('/');
  const second = first < 0 ? -1 : text.indexOf('/', first + 1);
  if (second < 0) {
    throw invalid(`${JSON.stringify(text.slice(0, 80))} is not an actor address: ${FORM}`);
  }
  const parts = {
    tenant: text.slice(0, first),
    type: text.slice(first + 1, second),
    key: text.slice(second + 1),
  };
  address(parts.tenant, parts.type, parts.key);
  return parts;
};

export const isAddress = (value: unknown): value is Address => {
  if (typeof value !== 'string' || !WHOLE.test(value) || UNFIT.test(value)) return false;
  return keyFits(value.slice(value.indexOf('/', value.indexOf('/') + 1) + 1));
};

/** @throws TroupeError INVALID_ARGUMENT unless shards is a whole number from 1 to 65,536 */
export const assertShards = (shards: number): void => {
  if (!(Number.isInteger(shards) && shards >= 1 && shards <= 65_536))
    throw invalid(`a cell has 1 to 65,536 shards, not ${shards}`);
};

/**
 * The shard of an actor, 0 to shards - 1. This function must never change: it determines where a
 * cell's actors are stored. It is FNV-1a (32 bits) over the UTF-8 bytes, then the finalizer of
 * MurmurHash3, because FNV alone distributes the low bits of similar names unevenly. It allocates
 * no memory.
 *
 * @throws TroupeError INVALID_ARGUMENT unless shards is a whole number from 1 to 65,536
 */
export const shardOf = (actor: Address, shards: number): number => {
  assertShards(shards);
  return fmix32(fnv1a32(actor)) % shards;
};

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

const fnv1a32 = (text: string): number => {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x80) return fnv1a32Wide(text, at, hash);
    hash = Math.imul(hash ^ unit, FNV_PRIME);
  }
  return hash;
};

/** Continues at the first non-ASCII character and encodes to UTF-8 while hashing. */
const fnv1a32Wide = (text: string, from: number, seed: number): number => {
  let hash = seed;
  for (let at = from; at < text.length; at++) {
    const point = text.codePointAt(at)!;
    if (point < 0x80) {
      hash = Math.imul(hash ^ point, FNV_PRIME);
      continue;
    }
    if (point < 0x800) {
      hash = Math.imul(hash ^ (0xc0 | (point >> 6)), FNV_PRIME);
    } else {
      if (point < 0x10000) {
        hash = Math.imul(hash ^ (0xe0 | (point >> 12)), FNV_PRIME);
      } else {
        hash = Math.imul(hash ^ (0xf0 | (point >> 18)), FNV_PRIME);
        hash = Math.imul(hash ^ (0x80 | ((point >> 12) & 0x3f)), FNV_PRIME);
        at++; // the low surrogate
      }
      hash = Math.imul(hash ^ (0x80 | ((point >> 6) & 0x3f)), FNV_PRIME);
    }
    hash = Math.imul(hash ^ (0x80 | (point & 0x3f)), FNV_PRIME);
  }
  return hash;
};

const fmix32 = (seed: number): number => {
  let hash = seed ^ (seed >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  hash ^= hash >>> 16;
  return hash >>> 0;
};

const invalid = (message: string) => new TroupeError('INVALID_ARGUMENT', message);

const nameError = (part: 'tenant' | 'type', value: unknown) =>
  invalid(
    `the ${part} ${JSON.stringify(String(value).slice(0, 80))} of an actor address must be 1 to 63 of a-z, 0-9, _ and -, ` +
      'beginning with a letter or digit',
  );
