import { describe, expect, it } from 'vitest';
import { explore, follow, exploreRandomly } from '../../charts/coverage.ts';
import { exploration } from './walk.ts';

describe('the document statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(exploreRandomly(exploration, 60)).toBe(60);
  });
});

describe('an undo that arrives before its update', () => {
  it('finds a late update refused, so that what was undone stays undone', () => {
    const { live } = follow(exploration, ['undo ta', 'write a', 'read']);
    expect(live.snapshot.value).toBe('absent');
  });
});
