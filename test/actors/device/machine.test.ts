import { describe, expect, it } from 'vitest';
import { explore, stroll } from '../../charts/coverage.ts';
import { anything, pairing, working } from './walk.ts';

describe('the device chart', () => {
  it('has no state and no transition that nothing reaches, and keeps its promises on every path', {
    timeout: 120_000,
  }, () => {
    const paired = new Set(explore(pairing).unreached);
    const unreached = explore(working).unreached.filter((name) => paired.has(name));
    expect(unreached).toEqual([]);
  });

  it('answers whoever asked once, in any order of messages, reconnects and expiries', {
    timeout: 120_000,
  }, () => {
    expect(stroll(anything, 100)).toBe(100);
  });
});
