import { describe, expect, it } from 'vitest';
import { rootMachine } from '../../../actors/root/machine.ts';
import { withPlacement } from '../../../actors/root/migrate.ts';
import { rootAddress } from '../../../actors/index.ts';
import { checkRow } from '../../../runtime/statechart/check.ts';
import { initialState, save } from '../../../runtime/statechart/host.ts';
import { explore, stroll } from '../../charts/coverage.ts';
import { exploration } from './walk.ts';

describe('the root chart', () => {
  it('has no state and no transition that nothing reaches, and keeps its promises on every path', {
    timeout: 120_000,
  }, () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its promises on long paths in any order', () => {
    expect(stroll(exploration, 60)).toBe(60);
  });
});

describe('a root that was stored before it knew of workers', () => {
  it('goes on, with nobody in the list', () => {
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
