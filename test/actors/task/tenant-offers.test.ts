/** Which external agents a tenant's offers choose, by the rows of its registry. */
import { describe, expect, it } from 'vitest';
import { ActionCatalog } from '../../../actors/task/catalog.ts';
import { createOffers } from '../../../actors/task/tenant-offers.ts';
import type { AgentRow } from '../../../protocols/action.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import { type Clock, systemClock } from '../../../runtime/index.ts';
import { spec } from '../listing/walk.ts';

const url = 'https://smith.example';

describe('the offers of agents without heartbeats', () => {
  const rows = (...list: [string, AgentRow['status'], string][]) =>
    list.map(([agent_id, status, version]) => ({
      key: agent_id,
      value: {
        agent_id,
        status,
        version: '1.0.0',
        url,
        envelope_versions: ['1.0'],
        last_seen_at: '',
        registered_at: '',
        actions: [spec('metal.forge_nail', version)],
      },
    }));
  const offersAmong = (...list: Parameters<typeof rows>) => {
    const index = {
      get: () => undefined,
      list: () => rows(...list) as never,
      scan: () => rows(...list) as never,
    };
    return createOffers({ catalog: new ActionCatalog([]), system: { index } });
  };
  const agentOf = (...list: Parameters<typeof rows>) => {
    const answer = offersAmong(...list).find('default', 'metal.forge_nail', '1.0.0');
    return 'offer' in answer ? answer.offer.terms({} as Envelope, 't').agent : answer.refused.code;
  };

  it('include an action that was registered after they were read', () => {
    let list: ReturnType<typeof rows> = [];
    const read = () => list as never;
    let nowMs = 0;
    const clock: Clock = { ...systemClock, monotonicMs: () => nowMs };
    const system = { index: { get: () => undefined, list: read, scan: read } };
    const offers = createOffers({ catalog: new ActionCatalog([]), system, clock });
    const find = () => offers.find('default', 'metal.forge_nail', '1.0.0');
    expect(find()).toMatchObject({ refused: { code: 'NOT_FOUND' } });
    list = rows(['a', 'live', '1.0.0']);
    nowMs += 1;
    expect(find()).toHaveProperty('offer');
  });

  it('use degraded agents only where no live one serves, and gone ones never', () => {
    expect(agentOf(['a', 'degraded', '1.5.0'], ['b', 'live', '1.0.0'])).toBe('b');
    expect(agentOf(['a', 'degraded', '1.0.0'], ['b', 'live', '2.0.0'])).toBe('a');
    expect(agentOf(['a', 'gone', '1.5.0'], ['b', 'degraded', '1.0.0'])).toBe('b');
    expect(agentOf(['a', 'gone', '1.0.0'])).toBe('UNAVAILABLE');
    expect(agentOf(['a', 'live', '1.0.0'], ['b', 'live', '1.5.0'])).toBe('b');
  });

  it('use no agent without the right to the action, but another one when its owner is degraded', () => {
    const claims = (owner: string, day: number, approved: string[] = []) => ({
      owner,
      since: { 'metal.forge_nail': `2026-01-0${day}T00:00:00.000Z` },
      approved,
    });
    const among = (...list: [string, AgentRow['status'], AgentRow['claims']][]) => {
      const found = list.map(([id, status, held]) => {
        const [row] = rows([id, status, '1.0.0']);
        return { key: id, value: { ...row!.value, claims: held } };
      });
      const index = {
        get: () => undefined,
        list: () => found as never,
        scan: () => found as never,
      };
      const offers = createOffers({ catalog: new ActionCatalog([]), system: { index } });
      const answer = offers.find('default', 'metal.forge_nail', '1.0.0');
      return 'offer' in answer ? answer.offer.terms({} as Envelope, 't').agent : answer.refused;
    };
    const owner = ['smith', 'degraded', claims('smith', 1)] as const;
    expect(among([...owner], ['thief', 'live', claims('thief', 2)])).toBe('smith');
    const approved = claims('other', 2, ['metal.forge_nail']);
    expect(among([...owner], ['other', 'live', approved])).toBe('other');
  });
});
