import { describe, expect, it } from 'vitest';
import { explore, stroll } from '../../charts/coverage.ts';
import { exploration } from './walk.ts';

describe('the conversation chart', () => {
  it('has no state and no transition that nothing reaches, and keeps its promises on every path', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its promises on long paths in any order', () => {
    expect(stroll(exploration, 100)).toBe(100);
  });
});
