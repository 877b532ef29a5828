/** The events that a registry can receive, and the invariants that hold on every path. */
import { registryMachine } from '../../../actors/registry/machine.ts';
import { AGENTS_MAX, listingAddress } from '../../../actors/registry/roll.ts';
import type { RegistryContext } from '../../../actors/registry/types.ts';
import { address } from '../../../protocols/address.ts';
import type { Message, Reply } from '../../../protocols/statechart.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Ledger,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

const self = address('default', 'registry', 'agents');
const contextOf = (live: Live) => live.snapshot.context as RegistryContext;

/** Each request is answered, and no agent is registered twice. */
class Watch implements Ledger {
  copy(): Ledger {
    return this;
  }

  take({ cause, meta, step }: Happened): void {
    const { agents } = contextOf(step.live);
    demand(new Set(agents).size).toBe(agents.length);
    demand(agents.length).toBeLessThanOrEqual(AGENTS_MAX);
    const event: Message = cause.event;
    if (event.type !== 'registry.enrol') return;
    const [answer, ...more] = requestsOf<Reply>(step.requests, 'reply');
    demand(more).toEqual([]);
    demand(answer?.to?.id).toBe(meta.id);
    demand(agents.includes(String(event['agent_id']))).toBe(answer?.error === undefined);
  }
}

export const exploration: Exploration = {
  machine: registryMachine,
  self,
  ledger: () => new Watch(),
  moves: (live): Move[] => [
    ...['smith', 'baker'].map((agent_id) => ({
      name: `enrol ${agent_id}`,
      event: { type: 'registry.enrol', agent_id },
    })),
    {
      name: 'one more',
      event: { type: 'registry.enrol', agent_id: `a${contextOf(live).agents.length}` },
    },
    {
      name: 'smith has ended',
      event: { type: 'listing.ended', agent_id: 'smith' },
      from: listingAddress('default', 'smith'),
      tell: true,
    },
    {
      name: 'baker says that smith has ended',
      event: { type: 'listing.ended', agent_id: 'smith' },
      from: listingAddress('default', 'baker'),
      tell: true,
    },
  ],
  key: (live) => {
    const { agents } = contextOf(live);
    const rest = agents.length >= AGENTS_MAX ? 'full' : Math.min(agents.length, 3);
    return [agents.includes('smith'), agents.includes('baker'), rest];
  },
  scripts: [Array.from({ length: AGENTS_MAX }, () => 'one more')],
};
