import { describe, expect, it } from 'vitest';
import { rootMachine } from '../../../actors/root/machine.ts';
import { withPlacement } from '../../../actors/root/migrate.ts';
import { rootAddress } from '../../../actors/index.ts';
import { checkRow } from '../../../runtime/statechart/check.ts';
import { initialState, save } from '../../../runtime/statechart/host.ts';
import { explore, exploreRandomly } from '../../charts/coverage.ts';
import { exploration } from './walk.ts';

describe('the root statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', {
    timeout: 120_000,
  }, () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(exploreRandomly(exploration, 60)).toBe(60);
  });
});

describe('a root that was stored by a version without workers', () => {
  it('continues with an empty list', () => {
    const self = rootAddress('default');
    const input = { self, tenant: 'default', key: 'cluster', now: 1 };
    const row = save(initialState(rootMachine, input, { id: 'm', now: 1, self }).live);
    const { placement: _, ...value } = row.snap.v as Record<string, unknown>;
    const { workers: __, ...context } = row.snap.c as Record<string, unknown>;
    const old = { ...row, snap: { ...row.snap, v: value, c: context } };
    expect(checkRow(rootMachine, old)).not.toEqual([]);
    expect(checkRow(rootMachine, withPlacement(old))).toEqual([]);
    expect(withPlacement(old).snap.c).toEqual({ ...context, workers: [] });
  });
});
