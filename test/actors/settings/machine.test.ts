import { describe, expect, it } from 'vitest';
import { explore, exploreRandomly, follow } from '../../charts/coverage.ts';
import { contextOf, exploration } from './walk.ts';

describe('the settings statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(exploreRandomly(exploration, 60)).toBe(60);
  });

  it('lets only the first of two changes of the same version through', () => {
    const { live } = follow(exploration, ['set', 'set first']);
    expect(contextOf(live)).toMatchObject({
      values: { 'log.level': 'warn' },
      last: { version: 1 },
    });
  });
});
