import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CoolDowns, type CoolDownKey } from '../../../agent/models/cool-down.ts';
import { defined } from '../../../protocols/defined.ts';
import { type ErrorCode, TroupeError } from '../../../protocols/errors.ts';

const place: CoolDownKey = { provider: 'p', profile: 'a', model: 'm' };
const otherModel: CoolDownKey = { ...place, model: 'n' };
const otherKey: CoolDownKey = { ...place, profile: 'b' };
const elsewhere: CoolDownKey = { ...place, provider: 'q' };
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const failure = (code: ErrorCode, details = {}, retryAfterMs?: number) =>
  new TroupeError(code, 'no', { details, ...defined({ retryAfterMs }) });

const rig = () => {
  let now = 1_000_000;
  const table = new CoolDowns(() => now);
  return {
    table,
    pass: (ms: number) => void (now += ms),
    fail: (error: TroupeError, at = place) => table.begin(at).failed(error),
    cools: (at = place) => table.remainingMs(at),
  };
};

describe('a cool-down', () => {
  it.each<[string, TroupeError, number, CoolDownKey[], CoolDownKey[]]>([
    [
      'a rate limit: that model with that key',
      failure('RATE_LIMIT_EXCEEDED'),
      minute,
      [place],
      [otherModel, otherKey],
    ],
    [
      'an overload: that model with that key',
      failure('UNAVAILABLE', { status: 529 }),
      minute / 2,
      [place],
      [otherModel, otherKey],
    ],
    ['a timeout: that model', failure('DEADLINE_EXCEEDED'), minute / 2, [place], [otherModel]],
    ['an invalid answer: that model', failure('INTERNAL'), minute / 2, [place], [otherModel]],
    [
      'a refused key: every model of that key',
      failure('UNAUTHORIZED'),
      hour,
      [place, otherModel],
      [otherKey],
    ],
    [
      'an unpaid bill: every model of that key',
      failure('FORBIDDEN', { status: 402 }),
      hour,
      [place, otherModel],
      [otherKey],
    ],
    [
      'a forbidden model: that model',
      failure('FORBIDDEN', { status: 403 }),
      hour,
      [place],
      [otherModel],
    ],
    [
      'an unreachable address: every model at that address',
      failure('UNAVAILABLE', { reason: 'not_reached' }),
      minute / 2,
      [place, otherModel, otherKey],
      [elsewhere],
    ],
    ['a refused request: nothing', failure('INVALID_ARGUMENT'), 0, [place], []],
  ])('follows %s', (_, error, ms, cooling, ready) => {
    const { fail, cools } = rig();
    fail(error);
    for (const at of cooling) expect(cools(at)).toBe(ms);
    for (const at of ready) expect(cools(at)).toBe(0);
  });

  it('grows with consecutive failures up to an hour, and ends with a success', () => {
    const { table, fail, cools, pass } = rig();
    const pauses = [1, 2, 3, 4, 5].map(() => {
      fail(failure('RATE_LIMIT_EXCEEDED'));
      const ms = cools();
      pass(ms);
      return ms / minute;
    });
    expect(pauses).toEqual([1, 4, 16, 60, 60]);
    fail(failure('RATE_LIMIT_EXCEEDED'));
    table.begin(place).succeeded();
    expect(cools()).toBe(0);
    fail(failure('RATE_LIMIT_EXCEEDED'));
    expect(cools()).toBe(minute);
  });

  it('ignores failures of the day before', () => {
    const { fail, cools, pass } = rig();
    fail(failure('RATE_LIMIT_EXCEEDED'));
    fail(failure('RATE_LIMIT_EXCEEDED'));
    pass(day);
    fail(failure('RATE_LIMIT_EXCEEDED'));
    expect(cools()).toBe(minute);
  });

  it('uses the provider’s wait time, limited to between a second and a day', () => {
    const { fail, cools, pass } = rig();
    for (const [asked, kept] of [
      [7_000, 7_000],
      [0, 1_000],
      [9 * day, day],
    ] as const) {
      pass(2 * day);
      fail(failure('RATE_LIMIT_EXCEEDED', {}, asked));
      expect(cools()).toBe(kept);
    }
  });

  it('counts concurrent failures as one', () => {
    const { table, cools, pass } = rig();
    const together = Array.from({ length: 1_000 }, () => table.begin(place));
    pass(500);
    for (const call of together) {
      pass(1);
      call.failed(failure('RATE_LIMIT_EXCEEDED'));
    }
    expect(cools()).toBeLessThanOrEqual(minute);
    // An answer to a call that began before the failures does not end the cool-down.
    table.begin(place).failed(failure('RATE_LIMIT_EXCEEDED'));
    together[0]?.succeeded();
    expect(cools()).toBeGreaterThan(0);
  });

  it('keeps its table bounded, whatever models are requested', () => {
    const { fail, cools } = rig();
    for (let n = 0; n < 12_000; n++) fail(failure('UNAVAILABLE'), { ...place, model: `m${n}` });
    expect(cools({ ...place, model: 'm0' })).toBe(0); // the oldest entry was removed
    expect(cools({ ...place, model: 'm11999' })).toBeGreaterThan(0);
  });
});

describe('for any sequence of calls', () => {
  const codes: ErrorCode[] = [
    'RATE_LIMIT_EXCEEDED',
    'UNAVAILABLE',
    'UNAUTHORIZED',
    'FORBIDDEN',
    'DEADLINE_EXCEEDED',
    'INTERNAL',
    'INVALID_ARGUMENT',
    'CANCELLED',
  ];
  const anyPlace = fc.record({
    provider: fc.constantFrom('p', 'q'),
    profile: fc.constantFrom('a', 'b'),
    model: fc.constantFrom('m', 'n'),
  });
  const step = fc.oneof(
    fc.record({ kind: fc.constant('begin' as const), place: anyPlace }),
    fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 2 * hour }) }),
    fc.record({
      kind: fc.constant('end' as const),
      which: fc.nat(20),
      code: fc.option(fc.constantFrom(...codes), { nil: undefined }),
      retryAfterMs: fc.option(fc.nat(3 * day), { nil: undefined }),
      reason: fc.constantFrom('not_reached', 'cut'),
      status: fc.constantFrom(402, 403, 429, 503),
    }),
  );

  it('each pause lasts at most a day, and a success ends it earlier', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let now = 0;
        const table = new CoolDowns(() => now);
        const running: { at: CoolDownKey; watched: ReturnType<CoolDowns['begin']> }[] = [];
        const places: CoolDownKey[] = [];
        for (const one of steps) {
          if (one.kind === 'pass') now += one.ms;
          else if (one.kind === 'begin') {
            places.push(one.place);
            running.push({ at: one.place, watched: table.begin(one.place) });
          } else {
            const [call] = running.splice(one.which % Math.max(running.length, 1), 1);
            if (!call) continue;
            if (one.code === undefined) call.watched.succeeded();
            else {
              const { reason, status } = one;
              call.watched.failed(failure(one.code, { reason, status }, one.retryAfterMs));
            }
          }
          for (const at of places) {
            expect(table.remainingMs(at)).toBeGreaterThanOrEqual(0);
            expect(table.remainingMs(at)).toBeLessThanOrEqual(day);
          }
        }
        for (const at of places) {
          table.begin(at).succeeded();
          expect(table.remainingMs(at)).toBe(0);
        }
        now += day;
        for (const at of places) expect(table.remainingMs(at)).toBe(0);
      }),
      { numRuns: 300 },
    );
  });
});
