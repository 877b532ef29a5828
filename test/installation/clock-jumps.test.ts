import { expect, it } from 'vitest';
import { ClockJumps } from '../../installation/clock-jumps.ts';

it('reports a clock that was set, and neither its normal course nor small corrections', () => {
  const clock = { wall: 1e12, mono: 0, wallMs: () => clock.wall, monotonicMs: () => clock.mono };
  const pass = (monoMs: number, wallMs = monoMs) => {
    clock.mono += monoMs;
    clock.wall += wallMs;
    jumps.look();
  };
  const texts: string[] = [];
  const jumps = new ClockJumps(clock, (text) => texts.push(text));
  pass(5_000);
  pass(5_000, 6_900);
  expect([texts, jumps.fault()]).toEqual([[], undefined]);
  pass(5_000, 65_000);
  pass(5_000, -25_000);
  expect(texts).toEqual([
    expect.stringContaining('set forward by 60 s'),
    expect.stringContaining('set back by 30 s'),
  ]);
  expect([jumps.count, jumps.fault()]).toEqual([2, texts[1]]);
  pass(3_600_000);
  expect(jumps.fault()).toBeUndefined();
});
