/** The contract of Clock, run on every adapter. */
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../runtime/clock/clock.ts';

export type ClockUnderTest = {
  readonly clock: Clock;
  /** advances time until the condition holds */
  readonly until: (isOver: () => boolean) => Promise<void>;
};

export const clockContract = (name: string, make: () => ClockUnderTest): void => {
  describe(`Clock contract: ${name}`, () => {
    it('calls back once, not early, and never within `after` itself', async () => {
      const { clock, until } = make();
      const start = clock.monotonicMs();
      const calls: number[] = [];
      clock.after(20, () => calls.push(clock.monotonicMs()));
      expect(calls).toEqual([]);
      await until(() => calls.length > 0);
      let later = false;
      clock.after(20, () => (later = true));
      await until(() => later);
      expect(calls).toHaveLength(1);
      // setTimeout counts whole milliseconds, performance.now() does not
      expect(calls[0]! - start).toBeGreaterThanOrEqual(19);
    });

    it('fires earlier timers first, and timers with the same due time in the order they were set', async () => {
      const { clock, until } = make();
      const calls: string[] = [];
      clock.after(40, () => calls.push('third'));
      clock.after(5, () => calls.push('first'));
      clock.after(5, () => calls.push('second'));
      await until(() => calls.length === 3);
      expect(calls).toEqual(['first', 'second', 'third']);
    });

    it('does not call a cancelled timer; cancelling may be repeated or late', async () => {
      const { clock, until } = make();
      let cancelled = false;
      let done = false;
      const cancel = clock.after(5, () => (cancelled = true));
      const late = clock.after(10, () => (done = true));
      cancel();
      cancel();
      await until(() => done);
      late();
      expect(cancelled).toBe(false);
    });

    it('treats a negative delay as zero', async () => {
      const { clock, until } = make();
      let called = false;
      clock.after(-5, () => (called = true));
      await until(() => called);
      expect(called).toBe(true);
    });

    it('does not fire at once for a delay above the limit of timers', async () => {
      const { clock, until } = make();
      let called = false;
      let waited = false;
      const cancel = clock.after(2 ** 40, () => (called = true));
      clock.after(30, () => (waited = true));
      await until(() => waited);
      expect(called).toBe(false);
      cancel();
    });

    it('never decreases monotonic time', async () => {
      const { clock, until } = make();
      const times: number[] = [];
      for (let i = 0; i < 20; i++) clock.after(i % 4, () => times.push(clock.monotonicMs()));
      await until(() => times.length === 20);
      expect(times).toEqual([...times].sort((a, b) => a - b));
    });
  });
};
