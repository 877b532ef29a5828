import { describe, expect, it } from 'vitest';
import { explore, follow, exploreRandomly } from '../../charts/coverage.ts';
import { contextOf, exploration } from './walk.ts';

describe('the budget statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(exploreRandomly(exploration, 40)).toBe(40);
  });

  it('gives a run whose lease has ended a new slot when it asks again', () => {
    const asks = ['configure both by a', 'take', 'use all money', 'timer:dayEnd', 'take again'];
    const { live, now } = follow(exploration, asks);
    expect(contextOf(live).running).toMatchObject([{ until: now + 1_000 }]);
  });

  it('counts money and tokens of one UTC day, and starts at zero on the next', () => {
    const spent = follow(exploration, ['configure both by a', 'use all money']);
    expect(contextOf(spent.live)).toMatchObject({ spent: 'costPerDayUsd', costToday: 2 });
    const next = follow(exploration, ['configure both by a', 'use all money', 'timer:dayEnd']);
    expect(contextOf(next.live)).toMatchObject({ spent: null });
    const again = ['configure both by a', 'use all money', 'timer:dayEnd', 'use some'];
    expect(contextOf(follow(exploration, again).live)).toMatchObject({
      day: '1970-01-02',
      tokensToday: 1,
      costToday: 0,
    });
  });
});
