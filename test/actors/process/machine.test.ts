import { describe, expect, it } from 'vitest';
import { explore, stroll } from '../../charts/coverage.ts';
import { exploration } from './walk.ts';

describe('the process chart', () => {
  it('has no state and no transition that nothing reaches, and keeps its promises on every path', {
    timeout: 120_000,
  }, () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its promises on long paths in any order', () => {
    expect(stroll(exploration, 60)).toBe(60);
  });
});
