import { describe, expect, it } from 'vitest';
import { explore, follow, stroll } from '../../charts/coverage.ts';
import { contextOf, exploration } from './walk.ts';

describe('the task chart', () => {
  it('has no state and no transition that nothing reaches, and keeps its promises on every path', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its promises on long paths in any order', () => {
    expect(stroll(exploration, 100)).toBe(100);
  });
});

describe('an actor that was told to stop and is silent for a day', () => {
  const silent = ['submit for an actor that withdraws', 'cancel', 'timer:withdrawalTime'];
  const viewAfter = (...moves: string[]) =>
    contextOf(follow(exploration, [...silent, ...moves]).live).view;

  it('leaves the task to a person, and is still heard when it answers after all', () => {
    expect(viewAfter()).toMatchObject({ state: 'UNKNOWN', waiting: { for: 'decision' } });
    expect(viewAfter('actor undid it')).toMatchObject({ state: 'COMPENSATED' });
    expect(viewAfter('actor stopped')).toMatchObject({ state: 'CANCELLED' });
    expect(viewAfter('actor done')).toMatchObject({ state: 'RUNNING' });
    expect(viewAfter('a stranger answers')).toMatchObject({ state: 'UNKNOWN' });
  });

  it('is not waited for once more when a person says that the work failed', () => {
    expect(viewAfter('decide failed')).toMatchObject({ state: 'FAILED' });
  });
});

it('an envelope of a leap second has a time to live like any other', () => {
  const { work } = contextOf(follow(exploration, ['submit in a leap second']).live);
  expect(work?.expiresAt).toBeGreaterThan(0);
});
