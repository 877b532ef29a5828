/** The work that one message of a user can cause, in every order of sends, spawns and reports. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  joinedLineage,
  nextHop,
  onward,
  refusalOf,
} from '../../../actors/session/conversations/lineage.ts';
import type { Run } from '../../../actors/session/types.ts';
import { type Lineage, type LineageLimits, VISITED_MAX } from '../../../protocols/lineage.ts';

const limits: LineageLimits = { hopsMax: 16, messagesMax: 200 };
const runWith = (lineage?: Lineage): Run => (lineage ? { lineage } : {}) as Run;
const lineage = (more: Partial<Lineage> = {}): Lineage => ({
  hops: 1,
  visited: ['a'],
  left: 10,
  ...more,
});

describe('what goes with a message', () => {
  it('is one hop more, the sender visited, and a quarter of what is left after it', () => {
    expect(onward(null, 'a', limits)).toEqual({
      lineage: { hops: 1, visited: ['a'], left: 49 },
      left: { hops: 0, visited: [], left: 150 },
    });
    expect(onward(runWith(lineage()), 'b', limits)).toEqual({
      lineage: { hops: 2, visited: ['a', 'b'], left: 2 },
      left: { hops: 1, visited: ['a'], left: 7 },
    });
  });

  it('names a session once, and remembers the newest', () => {
    const visited = Array.from({ length: VISITED_MAX }, (_, n) => `s${n}`);
    const { lineage: next } = onward(runWith(lineage({ visited })), 'b', limits);
    expect(next.visited).toEqual([...visited.slice(1), 'b']);
    expect(onward(runWith(lineage()), 'a', limits).lineage.visited).toEqual(['a']);
  });
});

describe('a message may not go', () => {
  it.each([
    ['loop', 'to a session that was on the way', lineage(), 'a'],
    ['loop', 'to its own session', undefined, 'self'],
    ['hops', 'at the end of a chain', lineage({ hops: 16 }), 'z'],
    ['messages', 'when none are left', lineage({ left: 0 }), 'z'],
    [undefined, 'else it may', lineage(), 'z'],
  ] as const)('%s: %s', (why, _, has, target) => {
    expect(refusalOf(runWith(has), 'self', target, limits)).toBe(why);
  });
});

describe('a run that answers several messages', () => {
  it('has the longer way, all sessions of both and the fewer messages', () => {
    const other = lineage({ hops: 4, visited: ['b', 'a'], left: 3 });
    expect(joinedLineage(lineage(), other)).toEqual({ hops: 4, visited: ['a', 'b'], left: 3 });
    expect(joinedLineage(undefined, other)).toEqual(other);
    expect(joinedLineage(other)).toEqual(other);
    expect(joinedLineage()).toBeUndefined();
  });
});

describe('a spawn or a report', () => {
  it('has half of the messages, one hop further', () => {
    expect(nextHop(lineage({ left: 11 }), 'b', limits)).toEqual({
      hops: 2,
      visited: ['a', 'b'],
      left: 5,
    });
    expect(nextHop(undefined, 'b', limits)).toEqual({ hops: 1, visited: ['b'], left: 100 });
  });
});

/** An active run in its own session. */
type Going = { readonly session: string; readonly run: Run };
const step = fc.record({
  from: fc.nat(),
  to: fc.nat(),
  how: fc.constantFrom('send', 'send', 'spawn', 'join'),
});

/** Performs all that agents can do after one message of a user; returns the sent messages. */
function storm(steps: readonly { from: number; to: number; how: string }[], most: LineageLimits) {
  const going: Going[] = [{ session: 's0', run: runWith() }];
  let sent = 0;
  let longest = 0;
  for (const { from, to, how } of steps) {
    const at = from % going.length;
    const { session, run } = going[at]!;
    if (how === 'join' && to % going.length !== at) {
      const other = going[to % going.length]!;
      const joined = joinedLineage(run.lineage, other.run.lineage);
      going[at] = { session, run: runWith(joined) };
      going.splice(to % going.length, 1);
    } else if (how === 'spawn') {
      const handed = nextHop(run.lineage, session, most);
      const has = run.lineage ?? { hops: 0, visited: [], left: most.messagesMax };
      going[at] = { session, run: runWith({ ...has, left: has.left - handed.left }) };
      going.push({ session: `child${going.length}`, run: runWith(handed) });
    } else {
      const target = `s${to % 40}`;
      if (refusalOf(run, session, target, most) !== undefined) continue;
      const { lineage: handed, left } = onward(run, session, most);
      sent++;
      longest = Math.max(longest, handed.hops);
      going[at] = { session, run: runWith(left) };
      going.push({ session: target, run: runWith(handed) });
    }
  }
  return { sent, longest };
}

describe('whatever agents do among themselves', () => {
  it('ends: the number of messages and the length of chains are limited', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 400 }),
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 16 }),
        (steps, messagesMax, hopsMax) => {
          const { sent, longest } = storm(steps, { messagesMax, hopsMax });
          expect(sent).toBeLessThanOrEqual(messagesMax);
          expect(longest).toBeLessThanOrEqual(hopsMax);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('allows a dozen requests in sequence', () => {
    const again = Array.from({ length: 400 }, (_, n) => ({ from: 0, to: n + 1, how: 'send' }));
    expect(storm(again, { messagesMax: 200, hopsMax: 4 }).sent).toBeGreaterThan(11);
  });
});
