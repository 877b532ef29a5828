/**
 * Bug: of 20,000 ended runs the gateway kept ids that were parts of decoded messages, and with them
 * all texts of these messages, a kilobyte each.
 */
import { Session } from 'node:inspector/promises';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ownText } from '../../protocols/own-text.ts';

const LONG = 100_000;
const COUNT = 1_000;

/** Bytes that the texts keep in memory. */
async function bytesKeptBy(make: (n: number) => string): Promise<number> {
  const session = new Session();
  session.connect();
  const used = async () => {
    await session.post('HeapProfiler.collectGarbage');
    return process.memoryUsage().heapUsed;
  };
  const before = await used();
  const texts = Array.from({ length: COUNT }, (_, n) => make(n));
  const after = await used();
  session.disconnect();
  expect(texts).toHaveLength(COUNT);
  return after - before;
}

/** The beginning of a long text, as a decoder returns it. */
const partOf = (n: number): string => `${n}`.padEnd(LONG, 'message ').slice(0, 36);

describe('a text of its own', () => {
  it('is the same text', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(fc.property(text, (any) => ownText(any) === any));
    expect(ownText('half a pair \ud800')).toBe('half a pair \ud800');
  });

  it('does not keep the text that it was a part of', async () => {
    expect(await bytesKeptBy((n) => ownText(partOf(n)))).toBeLessThan(COUNT * 1_000);
  });
});
