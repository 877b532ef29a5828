import { describe, expect, it } from 'vitest';
import { explore, follow, stroll } from '../../charts/coverage.ts';
import { exploration } from './walk.ts';

describe('the document chart', () => {
  it('has no state and no transition that nothing reaches, and keeps its promises on every path', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its promises on long paths in any order', () => {
    expect(stroll(exploration, 60)).toBe(60);
  });
});

describe('an undo that comes before its update', () => {
  it('finds a late update refused, so that what was undone stays undone', () => {
    const { live } = follow(exploration, ['undo ta', 'write a', 'read']);
    expect(live.snapshot.value).toBe('absent');
  });
});
