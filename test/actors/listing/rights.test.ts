/** Which agents may serve an action, by the rows of a registry alone. */
import { describe, expect, it } from 'vitest';
import { rightsAmong } from '../../../actors/listing/rights.ts';
import type { AgentClaims, AgentRow } from '../../../protocols/action.ts';
import { spec } from './walk.ts';

const ACTION = 'metal.forge_nail';
const rowOf = (agent_id: string, claims: Partial<AgentClaims>, version = '1.0.0'): AgentRow => ({
  agent_id,
  version: '1.0.0',
  status: 'live',
  last_seen_at: '2026-01-01T00:00:00.000Z',
  registered_at: '2026-01-01T00:00:00.000Z',
  envelope_versions: ['1.0'],
  url: `https://${agent_id}.example`,
  actions: [spec(ACTION, version)],
  claims: { owner: agent_id, since: { [ACTION]: day(1) }, approved: [], ...claims },
});
const localRow = (): AgentRow => {
  const { url: _, ...row } = rowOf('local', { since: { [ACTION]: day(9) } });
  return row;
};
const day = (n: number): string => `2026-02-0${n}T00:00:00.000Z`;
const serving = (rows: readonly AgentRow[], ownNames?: ReadonlySet<string>): string[] => {
  const rights = rightsAmong(rows, ownNames);
  return rows.filter((row) => rights.mayServe(row, ACTION)).map(({ agent_id }) => agent_id);
};

describe('the name of an action', () => {
  it('belongs to the agent that offered it first, whichever version another agent offers', () => {
    const early = rowOf('smith', {});
    const late = rowOf('thief', { since: { [ACTION]: day(2) } }, '2.0.0');
    expect(serving([late, early])).toEqual(['smith']);
    expect(serving([early, late])).toEqual(['smith']);
    expect(serving([late])).toEqual(['thief']);
  });

  it('is never served by agents of two principals, even if both registered at the same time', () => {
    expect(serving([rowOf('b', {}), rowOf('a', {})])).toEqual(['a']);
  });

  it('is served by all agents of one principal, and by those that an operator approved', () => {
    const late = { since: { [ACTION]: day(2) } };
    const second = rowOf('second', { ...late, owner: 'smith' });
    const other = rowOf('other', { ...late, approved: [ACTION] });
    const thief = rowOf('thief', { ...late, approved: ['metal.melt_ore'] });
    expect(serving([rowOf('smith', {}), second, other, thief])).toEqual([
      'smith',
      'second',
      'other',
    ]);
  });

  it('belongs to local agents where they have the action, regardless of the time of registration', () => {
    expect(serving([rowOf('smith', {}), localRow()])).toEqual(['local']);
    expect(serving([rowOf('smith', {})], new Set([ACTION]))).toEqual([]);
  });
});
