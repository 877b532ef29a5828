import { describe, expect, it } from 'vitest';
import { explore, stroll } from '../../charts/coverage.ts';
import { exploration } from './walk.ts';

describe('the audit chart', () => {
  it('has no state and no transition that nothing reaches, and keeps a note whole or not at all', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its promises on long paths in any order', () => {
    expect(stroll(exploration, 60)).toBe(60);
  });
});
