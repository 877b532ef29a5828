import { describe, expect, it } from 'vitest';
import { sequenceMachine } from '../../../actors/sequence/machine.ts';
import { explore, follow, exploreRandomly } from '../../charts/coverage.ts';
import { exploration } from './walk.ts';

const HOUR_MS = 3_600_000;

describe('the sequence statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(exploreRandomly(exploration, 100)).toBe(100);
  });

  it('arms its timer when it is created and not for each number', () => {
    const created = follow(exploration, []).live;
    const { live } = follow(exploration, ['the next', 'the next', 'the last again']);
    expect(Object.values(created.timers).map(({ due }) => due)).toEqual([1_000 + 28 * HOUR_MS]);
    expect(live.timers).toEqual(created.timers);
  });

  it('is forgotten 28 hours after its last submit', () => {
    const timer = 'timer:idleTime';
    const used = follow(exploration, ['the next', timer]);
    expect(used.live.snapshot.status).toBe('active');
    const { live, now } = follow(exploration, ['the next', timer, timer]);
    expect(live.snapshot.status).toBe('done');
    expect(now).toBe(1_001 + 28 * HOUR_MS);
  });

  it('has few states and transitions, because every envelope passes through it', () => {
    expect(Object.keys(sequenceMachine.states)).toEqual(['keeping', 'forgotten']);
  });
});
