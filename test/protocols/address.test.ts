import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ADDRESS_KEY_BYTES_MAX,
  address,
  isAddress,
  parseAddress,
  shardOf,
} from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import frozen from '../../protocols/vectors/shard-of.json' with { type: 'json' };

const name = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,62}$/);
const key = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 128 })
  .map((text) => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '-'))
  .filter((text) => Buffer.byteLength(text) <= ADDRESS_KEY_BYTES_MAX);

describe('an address', () => {
  it('returns its parts, for any key', () => {
    fc.assert(
      fc.property(name, name, key, (tenant, type, text) => {
        const made = address(tenant, type, text);
        expect(made).toBe(`${tenant}/${type}/${text}`);
        expect(parseAddress(made)).toEqual({ tenant, type, key: text });
        expect(isAddress(made)).toBe(true);
      }),
    );
  });

  it('may contain the characters of session keys, paths and host names in its key', () => {
    const text = 'agent:main:telegram:group:-100/42.example:topic:ünï 😀';
    expect(parseAddress(`acme/session/${text}`).key).toBe(text);
  });

  it.each([
    ['', /tenant\/type\/key/],
    ['acme', /tenant\/type\/key/],
    ['acme/session', /tenant\/type\/key/],
    ['acme/session/', /key .* must not be empty/],
    ['/session/k', /tenant "" /],
    ['Acme/session/k', /tenant "Acme" .* a-z, 0-9, _ and -/],
    ['-acme/session/k', /beginning with a letter or digit/],
    [`${'a'.repeat(64)}/session/k`, /1 to 63/],
    ['acme//k', /type "" /],
    ['acme/se.ssion/k', /type "se\.ssion" /],
    ['acme/session/a\nb', /control character/],
    ['acme/session/a\u0085b', /control character/],
    ['acme/session/\ud800', /surrogate/],
    [`acme/session/${'x'.repeat(513)}`, /513 UTF-8 bytes, at most 512/],
    [`acme/session/${'é'.repeat(257)}`, /514 UTF-8 bytes, at most 512/],
  ])('is refused as %j with the fault', (text, complaint) => {
    expect(isAddress(text)).toBe(false);
    expect(() => parseAddress(text)).toThrow(complaint);
    expect(() => parseAddress(text)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as TroupeError,
    );
  });

  it('has room for exactly 512 bytes of key', () => {
    for (const text of ['x'.repeat(512), 'é'.repeat(256), '漢'.repeat(170), '😀'.repeat(128)]) {
      expect(isAddress(address('t', 'a', text))).toBe(true);
    }
    expect(isAddress(`t/a/${'😀'.repeat(128)}x`)).toBe(false);
  });

  it('is always a text', () => {
    expect([undefined, null, 7, {}, ['t/a/k']].map(isAddress)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});

/** The same function written from its definition: FNV-1a 32, then the finalizer of MurmurHash3. */
const shardByDefinition = (text: string, shards: number): number => {
  let hash = 0x811c9dc5n;
  for (const byte of Buffer.from(text, 'utf8'))
    hash = ((hash ^ BigInt(byte)) * 0x01000193n) & 0xffffffffn;
  hash = ((hash ^ (hash >> 16n)) * 0x85ebca6bn) & 0xffffffffn;
  hash = ((hash ^ (hash >> 13n)) * 0xc2b2ae35n) & 0xffffffffn;
  return Number((hash ^ (hash >> 16n)) % BigInt(shards));
};

/** The digest of the frozen file. A change of the file is a change of the hash. */
const VECTORS_SHA256 = '3ff8982167fff01a299ed2c3f46287ba42f78f9cc242777435adb0f4d47c20d0';

describe('the shard of an address', () => {
  // Frozen: they determine the shard of each actor. With a change here every installation loses its
  // actors.
  it.each([
    ['default/session/agent:main:main', 64, 50],
    ['default/session/agent:main:main', 8, 2],
    ['default/root/root', 64, 0],
    ['acme/agent/writer', 64, 12],
    ['acme/session/agent:main:dm:+4915112345678', 64, 2],
    ['acme/session/agent:main:telegram:group:-100:topic:7', 1024, 786],
    ['acme/document/Bücher/Straße', 64, 40],
    ['acme/document/漢字', 65_536, 50_033],
    ['acme/document/😀', 65_536, 46_447],
  ])('of %s, with %i shards, is always %i', (text, shards, shard) => {
    const { tenant, type, key: rest } = parseAddress(text);
    expect(shardOf(address(tenant, type, rest), shards)).toBe(shard);
  });

  // Also for other implementations: a program in another language that sends to mailboxes must
  // agree.
  it('equals the frozen vectors', () => {
    for (const { address: text, hash, shards } of frozen.vectors) {
      const { tenant, type, key: rest } = parseAddress(text);
      const actor = address(tenant, type, rest);
      for (const [count, shard] of Object.entries(shards)) {
        expect([text, count, shardOf(actor, Number(count))]).toEqual([text, count, shard]);
        expect(hash % Number(count)).toBe(shard);
      }
    }
  });

  it('has unchanged vectors', () => {
    const file = readFileSync(new URL('../../protocols/vectors/shard-of.json', import.meta.url));
    expect(createHash('sha256').update(file).digest('hex')).toBe(VECTORS_SHA256);
  });

  it('follows its definition, for keys of every script', () => {
    fc.assert(
      fc.property(
        name,
        name,
        key,
        fc.integer({ min: 1, max: 65_536 }),
        (tenant, type, text, shards) => {
          const actor = address(tenant, type, text);
          expect(shardOf(actor, shards)).toBe(shardByDefinition(actor, shards));
        },
      ),
    );
  });

  it.each([8, 64, 100])('spreads similar keys evenly over %i shards', (shards) => {
    const counts = new Array<number>(shards).fill(0);
    const each = 1000;
    for (let at = 0; at < shards * each; at++) {
      const shard = shardOf(
        address('acme', 'session', `agent:main:dm:+49${1_000_000 + at}`),
        shards,
      );
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    // Chi-squared of a fair spread has mean shards - 1 and deviation sqrt(2 (shards - 1)); six of
    // them.
    const chi = counts.reduce((sum, count) => sum + (count - each) ** 2 / each, 0);
    expect(chi).toBeLessThan(shards - 1 + 6 * Math.sqrt(2 * (shards - 1)));
  });

  it.each([0, -1, 1.5, 65_537, Number.NaN])('is refused for %d shards', (shards) => {
    expect(() => shardOf(address('t', 'a', 'k'), shards)).toThrow(/1 to 65,536 shards/);
  });
});
