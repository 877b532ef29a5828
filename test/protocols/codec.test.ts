import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, encode, fromJson } from '../../protocols/codec.ts';

const bytes = fc.uint8Array({ maxLength: 64 });
const key = fc.string({ unit: 'binary' }).filter((text) => text !== '__proto__');
/** The values of messages: JSON values and bytes. -0 is 0, as in JSON. */
const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    fc.string({ unit: 'binary' }),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    bytes,
    fc.array(tie('value'), { maxLength: 6 }),
    fc.dictionary(key, tie('value'), { maxKeys: 15, noNullPrototype: true }),
  ),
})).value;

/** Bytes are decoded as a subclass of Uint8Array; tests compare plain ones. */
const plain = (found: unknown): unknown => {
  if (found instanceof Uint8Array) return Uint8Array.from(found);
  if (Array.isArray(found)) return found.map(plain);
  if (typeof found !== 'object' || found === null) return found;
  return Object.fromEntries(Object.entries(found).map(([name, field]) => [name, plain(field)]));
};

describe('MessagePack', () => {
  it('holds little memory for a small value after a large one', () => {
    encode('x'.repeat(4 * 2 ** 20));
    expect(encode({ n: 1 }).buffer.byteLength).toBeLessThanOrEqual(2 ** 21);
  });

  it('decodes every JSON value with bytes to an equal value', () => {
    fc.assert(
      fc.property(value, (given) => {
        expect(plain(decode(encode(given)))).toEqual(plain(given));
        expect(plain(decode(Uint8Array.from(encode(given))))).toEqual(plain(given));
      }),
      { numRuns: 300 },
    );
  });

  it('returns plain objects and plain numbers, also where another encoder wrote 64-bit integers', () => {
    const found = decode<{ at: number; big: number }>(
      encode({ at: 1_763_716_000_000, big: 2n ** 40n }),
    );
    expect(Object.getPrototypeOf(found)).toBe(Object.prototype);
    expect(found).toEqual({ at: 1_763_716_000_000, big: 2 ** 40 });
  });

  it('keeps an undefined field', () => {
    expect(decode(encode({ result: undefined }))).toStrictEqual({ result: undefined });
  });

  it('decodes every message independently, in any order, as another process would', () => {
    const messages = Array.from({ length: 50 }, (_, at) => ({
      type: 'x',
      id: at,
      [`field${at % 3}`]: at,
    }));
    const encoded = messages.map((message) => Uint8Array.from(encode(message)));
    expect(encoded.map((one) => decode(one)).toReversed()).toEqual(messages.toReversed());
    // A shared structure would make later messages shorter than the first of the same shape.
    expect(encoded[48]).toHaveLength(encoded[0]!.length);
  });

  it('returns bytes that later calls do not overwrite', () => {
    const first = encode({ text: 'first' });
    const before = Uint8Array.from(first);
    for (let at = 0; at < 2000; at++) encode({ text: `later ${at}`, filler: 'x'.repeat(100) });
    expect(Uint8Array.from(first)).toEqual(before);
  });

  it('returns values that share no memory with their input, because a store reuses it', () => {
    const stored = encode({ blob: Uint8Array.of(1, 2, 3) });
    const { blob } = decode<{ blob: Uint8Array }>(stored);
    stored.fill(0);
    expect([...blob]).toEqual([1, 2, 3]);
  });

  it('never sets a prototype by a key of a message', () => {
    const hostile = JSON.parse('{"__proto__":{"admin":true}}') as unknown;
    const found = decode<Record<string, unknown>>(encode(hostile));
    expect(Object.getPrototypeOf(found)).toBe(Object.prototype);
    expect(found.admin).toBeUndefined();
  });

  it('refuses a cycle, and encodes the next value correctly', () => {
    const cycle: Record<string, unknown> = { name: 'cycle' };
    cycle.self = cycle;
    expect(() => encode(cycle)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error,
    );
    expect(decode(encode({ ok: 1 }))).toEqual({ ok: 1 });
  });

  it.each([
    ['cut', (whole: Buffer) => whole.subarray(0, -1)],
    ['empty', () => new Uint8Array(0)],
    ['followed by more', (whole: Buffer) => Buffer.concat([whole, Buffer.of(1)])],
    ['of an unknown extension', () => Uint8Array.of(0xd4, 0x33, 0)],
  ])('refuses bytes that are %s', (_, damage) => {
    const whole = encode({ type: 'message', text: 'hello' });
    expect(() => decode(damage(whole))).toThrow(/bytes are not a MessagePack value/);
    expect(decode(whole)).toEqual({ type: 'message', text: 'hello' });
  });
});

describe('JSON at the edges', () => {
  const BYTES_MAX = 1_048_576;

  it('decodes every JSON value, from text and from UTF-8', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (given) => {
        const text = JSON.stringify(given);
        const same = JSON.parse(text) as unknown;
        expect(fromJson(text, BYTES_MAX)).toEqual(same);
        expect(fromJson(Buffer.from(text), BYTES_MAX)).toEqual(same);
      }),
    );
  });

  it('is bounded in UTF-8 bytes, with the numbers in the error', () => {
    const refusal = { code: 'PAYLOAD_TOO_LARGE', details: { bytes: 12, bytesMax: 11 } };
    expect(fromJson('"ééééé"', 12)).toBe('ééééé');
    expect(() => fromJson('"ééééé"', 11)).toThrow(expect.objectContaining(refusal) as Error);
    expect(() => fromJson(Buffer.from('"ééééé"'), 11)).toThrow(
      expect.objectContaining(refusal) as Error,
    );
  });

  it('tests the size before it parses', () => {
    expect(() => fromJson('{{', 1)).toThrow(/at most 1 are allowed/);
  });

  it.each([
    ['{"a":', /this is not JSON/],
    ['', /this is not JSON/],
    [Uint8Array.of(0x22, 0xff, 0x22), /this is not JSON/],
  ])('refuses %o', (text, complaint) => {
    expect(() => fromJson(text, BYTES_MAX)).toThrow(complaint);
    expect(() => fromJson(text, BYTES_MAX)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error,
    );
  });
});
