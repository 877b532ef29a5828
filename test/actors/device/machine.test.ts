import { describe, expect, it } from 'vitest';
import { explore, exploreRandomly } from '../../charts/coverage.ts';
import { anything, pairing, working } from './walk.ts';

describe('the device statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', {
    timeout: 120_000,
  }, () => {
    const paired = new Set(explore(pairing).unreached);
    const unreached = explore(working).unreached.filter((name) => paired.has(name));
    expect(unreached).toEqual([]);
  });

  it('answers each caller once, in any order of messages, reconnects and expiries', {
    timeout: 120_000,
  }, () => {
    expect(exploreRandomly(anything, 100)).toBe(100);
  });
});
