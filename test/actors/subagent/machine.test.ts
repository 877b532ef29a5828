import { describe, expect, it } from 'vitest';
import { explore, stroll } from '../../charts/coverage.ts';
import { exploration } from './walk.ts';

describe('the subagent chart', { timeout: 120_000 }, () => {
  it('has no state and no transition that nothing reaches, and comes to its report from every situation though nothing more is answered', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its promises on long paths in any order', () => {
    expect(stroll(exploration, 60)).toBe(60);
  });
});
