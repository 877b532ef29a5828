import { describe, expect, it } from 'vitest';
import { explore, exploreRandomly } from '../../charts/coverage.ts';
import { exploration } from './walk.ts';

describe('the subagent statechart', { timeout: 120_000 }, () => {
  it('reaches every state and transition, and reports its end from every state without further answers', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(exploreRandomly(exploration, 60)).toBe(60);
  });
});
