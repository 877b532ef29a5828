import { describe, expect, it } from 'vitest';
import { AGENTS_MAX } from '../../../actors/registry/roll.ts';
import type { RegistryContext } from '../../../actors/registry/types.ts';
import { explore, follow, exploreRandomly } from '../../charts/coverage.ts';
import { exploration } from './walk.ts';

describe('the registry statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(exploreRandomly(exploration, 60)).toBe(60);
  });

  it('holds a thousand agents, and refuses one more', () => {
    const script = Array.from({ length: AGENTS_MAX }, () => 'one more');
    const agents = (names: readonly string[]) =>
      (follow(exploration, names).live.snapshot.context as RegistryContext).agents;
    expect(agents(script)).toHaveLength(AGENTS_MAX);
    expect(agents([...script, 'enrol smith'])).toEqual(agents(script));
  });
});
