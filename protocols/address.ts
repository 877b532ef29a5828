/**
 * Address: the name of an actor, `tenant/type/key`, the same on every machine (RT1), and the frozen
 * hash that puts it into a shard.
 *
 * `tenant` and `type` are [a-z0-9][a-z0-9_-]{0,62}; `key` is 1 to 512 UTF-8 bytes of any
 * well-formed text without control characters, so it may hold `/`, `:` and `.`. Since the first two
 * hold no `/`, the text has one reading only and needs no escaping; where it goes into a subject,
 * subjects.ts escapes it.
 */
import { TroupeError } from './errors.ts';

declare const brand: unique symbol;
/** A checked `tenant/type/key`. Made by `address` and `parseAddress` only. */
export type Address = string & { readonly [brand]: 'Address' };

/** Tenant of everything that names no other tenant. */
export const DEFAULT_TENANT = 'default';

export type AddressParts = { readonly tenant: string; readonly type: string; readonly key: string };

/** A key is at most this many UTF-8 bytes. */
export const ADDRESS_KEY_BYTES_MAX = 512;

const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
// C0, DEL and C1 controls, and lone surrogates, which have no UTF-8.
const UNFIT = /[\u0000-\u001f\u007f-\u009f]|\p{Surrogate}/u;
const WHOLE = /^[a-z0-9][a-z0-9_-]{0,62}\/[a-z0-9][a-z0-9_-]{0,62}\/./su;
/** No text of so few UTF-16 units has more than ADDRESS_KEY_BYTES_MAX bytes. */
const KEY_UNITS_SURE = Math.floor(ADDRESS_KEY_BYTES_MAX / 3);

const keyFits = (key: string): boolean =>
  key.length <= KEY_UNITS_SURE || Buffer.byteLength(key, 'utf8') <= ADDRESS_KEY_BYTES_MAX;

/** @throws TroupeError INVALID_ARGUMENT that names the part and the rule it breaks */
export const address = (tenant: string, type: string, key: string): Address => {
  if (!NAME.test(tenant)) throw nameError('tenant', tenant);
  if (!NAME.test(type)) throw nameError('type', type);
  if (key === '')
    throw invalid(`the key of an actor address must not be empty (${tenant}/${type}/)`);
  if (UNFIT.test(key)) {
    throw invalid(
      `the key ${JSON.stringify(key.slice(0, 80))} of an actor address has a control character or half a surrogate pair`,
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

/** @throws TroupeError INVALID_ARGUMENT that says what is wrong */
export const parseAddress = (text: string): AddressParts => {
  const first = text.indexOf('/');
  const second = first < 0 ? -1 : text.indexOf('/', first + 1);
  if (second < 0) {
    throw invalid(
      `${JSON.stringify(text.slice(0, 80))} is no actor address: write tenant/type/key`,
    );
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

/**
 * Shard of an actor, 0 to shards - 1. Frozen: a cell's actors live where this says for ever, so the
 * function may never change. FNV-1a (32 bits) over the UTF-8 bytes, then the finalizer of
 * MurmurHash3, because FNV alone leaves the low bits of similar names uneven. Allocates nothing.
 *
 * @throws TroupeError INVALID_ARGUMENT unless shards is a whole number from 1 to 65,536
 */
export const shardOf = (actor: Address, shards: number): number => {
  if (!(Number.isInteger(shards) && shards >= 1 && shards <= 65_536)) {
    throw invalid(`a cell has 1 to 65,536 shards, not ${shards}`);
  }
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

/** Goes on from the first character that is not ASCII, with its UTF-8 bytes made on the way. */
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

const nameError = (part: 'tenant' | 'type', value: string) =>
  invalid(
    `the ${part} ${JSON.stringify(value.slice(0, 80))} of an actor address must be 1 to 63 of a-z, 0-9, _ and -, ` +
      'beginning with a letter or digit',
  );
