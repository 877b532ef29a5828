import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashOf, pauseMsOf } from '../../../actors/kit/backoff.ts';
import { ERRORS, type ErrorCode, type ErrorData, isFinalCode } from '../../../protocols/errors.ts';

const error: ErrorData = { code: 'UNAVAILABLE', message: 'away' };
const backoff = { first: 1_000, max: 60_000 };

describe('the pause between attempts', () => {
  it('is between zero and the doubled first pause, up to the longest', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 40 }), (seed, failures) => {
        const pause = pauseMsOf(backoff, failures, { seed, error });
        expect(Number.isInteger(pause)).toBe(true);
        expect(pause).toBeGreaterThanOrEqual(0);
        expect(pause).toBeLessThanOrEqual(Math.min(60_000, 1_000 * 2 ** (failures - 1)));
      }),
    );
  });

  it('is spread over that whole range, by its seed only', () => {
    const pauses = Array.from({ length: 1_000 }, (_, n) =>
      pauseMsOf(backoff, 4, { seed: `t/task/${n}|1.${n}`, error }),
    );
    for (let part = 0; part < 8; part++) {
      const inPart = pauses.filter((ms) => Math.floor(ms / 1_001) === part);
      expect(inPart.length, `between ${part} and ${part + 1} s`).toBeGreaterThan(80);
    }
    expect(pauseMsOf(backoff, 4, { seed: 't/task/7|1.7', error })).toBe(pauses[7]);
  });

  it('is never shorter than the error requests, up to an hour', () => {
    const pause = (retryAfterMs: number) =>
      pauseMsOf(backoff, 1, { seed: 's', error: { ...error, retryAfterMs } });
    expect(pause(30_000)).toBe(30_000);
    expect(pause(86_400_000)).toBe(3_600_000);
  });
});

it('codes that no other attempt would change are none that callers may retry', () => {
  const final = (Object.keys(ERRORS) as ErrorCode[]).filter(isFinalCode);
  expect(final.filter((code) => ERRORS[code].retriable)).toEqual([]);
  expect(isFinalCode('INTERNAL')).toBe(false);
});

it('hashes texts that differ little far apart', () => {
  const hashes = Array.from({ length: 1_000 }, (_, n) => hashOf(`task ${n}`));
  expect(new Set(hashes).size).toBe(1_000);
  expect(hashes.filter((hash) => hash % 2 === 0).length).toBeGreaterThan(400);
});
