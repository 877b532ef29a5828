import { describe, expect, it } from 'vitest';
import { explore, exploreRandomly } from '../../charts/coverage.ts';
import { exploration } from './walk.ts';

describe('the session statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', {
    timeout: 180_000,
  }, () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', { timeout: 180_000 }, () => {
    expect(exploreRandomly(exploration, 200)).toBe(200);
  });
});
