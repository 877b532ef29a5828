import { expect, it } from 'vitest';
import type { Clock } from '../../../runtime/clock/clock.ts';
import { LogTime } from '../../../runtime/log/log-time.ts';

const HOUR_MS = 3_600_000;

/** A clock whose wall time and monotonic time a test sets. */
class Hands implements Clock {
  wall = 10 * HOUR_MS;
  monotonic = 5;
  wallMs = () => this.wall;
  monotonicMs = () => this.monotonic;
  after = () => () => {};
  pass(ms: number): void {
    this.wall += ms;
    this.monotonic += ms;
  }
}

it('follows the wall clock', () => {
  const hands = new Hands();
  const time = new LogTime(hands);
  expect(time.now()).toBe(10 * HOUR_MS);
  hands.pass(1_000);
  expect(time.now()).toBe(10 * HOUR_MS + 1_000);
  hands.wall += HOUR_MS;
  expect(time.now()).toBe(11 * HOUR_MS + 1_000);
});

it('continues at its own pace when the wall clock is set back', () => {
  const hands = new Hands();
  const time = new LogTime(hands);
  time.now();
  hands.wall -= HOUR_MS;
  expect(time.now()).toBe(10 * HOUR_MS);
  hands.pass(250);
  expect(time.now()).toBe(10 * HOUR_MS + 250);
});

it('starts at the stored time if that is later than the wall clock', () => {
  const hands = new Hands();
  const time = new LogTime(hands);
  time.found(9 * HOUR_MS);
  expect(time.now()).toBe(10 * HOUR_MS);
  time.found(34 * HOUR_MS);
  hands.pass(40);
  expect(time.now()).toBe(34 * HOUR_MS + 40);
});
