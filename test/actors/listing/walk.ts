/** The events that a listing can receive, and the invariants that hold on every path. */
import { listingMachine } from '../../../actors/listing/machine.ts';
import type { ListingContext } from '../../../actors/listing/types.ts';
import {
  type ActionSpec,
  type AgentRow,
  DEPRECATION_MS,
  majorOf,
} from '../../../protocols/action.ts';
import { address } from '../../../protocols/address.ts';
import type { ErrorCode } from '../../../protocols/errors.ts';
import type { Project, Publish, Reply, Tell } from '../../../protocols/statechart.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Ledger,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

const self = address('default', 'listing', 'smith');
const registry = address('default', 'registry', 'agents');
const contextOf = (live: Live) => live.snapshot.context as ListingContext;

export const spec = (action: string, version = '1.0.0'): ActionSpec => ({
  action,
  action_version: version,
  description: 'does it',
  transports: ['http'],
  max_payload_bytes: 1_024,
  eta_sec: 60,
  schemas: { '1.0': { type: 'object' } },
  roles: [],
  compensable: false,
  sensitive: false,
});

/** The projected row, the pending callers, and the announcements. */
class Watch implements Ledger {
  row: AgentRow | undefined;
  /** asks without a reply, except those in the stash */
  open: Set<string>;
  announced: number;

  constructor(from?: Watch) {
    this.row = from?.row;
    this.open = new Set(from?.open);
    this.announced = from?.announced ?? 0;
  }

  copy(): Ledger {
    return new Watch(this);
  }

  take({ cause, meta, step }: Happened): void {
    const context = contextOf(step.live);
    const value = step.live.snapshot.value as string | { listed: { life: string } };
    for (const { key, value: row } of requestsOf<Project>(step.requests, 'project')) {
      demand(key).toBe('smith');
      this.row = (row as AgentRow | null) ?? undefined;
    }
    if (cause.event.type.startsWith('registry.') && step.outcome !== 'ignored')
      this.open.add(meta.id);
    for (const { to } of requestsOf<Reply>(step.requests, 'reply')) {
      if (to) demand(this.open.delete(to.id), 'answered once').toBe(true);
    }
    demand(this.open.size).toBe(value === 'checking' || value === 'enrolling' ? 1 : 0);
    if (typeof value === 'object') this.#listed(context, value.listed.life);
    if (value === 'ended') {
      demand(this.row).toBeUndefined();
      const tells = requestsOf<Tell>(step.requests, 'tell');
      demand(tells).toEqual([
        { to: registry, event: { type: 'listing.ended', agent_id: 'smith' } },
      ]);
    }
    this.#notices(requestsOf<Publish>(step.requests, 'publish'), meta.now);
  }

  #listed(context: ListingContext, life: string): void {
    demand(this.row).toMatchObject({
      agent_id: 'smith',
      status: life,
      version: context.registration!.version,
    });
    demand(this.row!.actions.map(({ action }) => action)).toEqual(
      context.registration!.actions.map(({ action }) => action),
    );
    for (const { action, major } of context.sunsets) {
      const shown = this.row!.actions.find(
        (one) => one.action === action && majorOf(one.action_version) === major,
      );
      demand(shown?.deprecated, 'a sunset is shown').toBe(true);
    }
  }

  #notices(events: readonly Publish[], now: number): void {
    for (const { topic, event } of events) {
      demand(topic).toBe('a2a.out.default.metal');
      demand(Date.parse(event['sunset_at'] as string)).toBeGreaterThan(now);
      this.announced++;
    }
  }
}

const LOCAL = { version: '1.0.0', actions: [spec('metal.forge_nail')] };
const REMOTE = { ...LOCAL, url: 'https://smith.example' };
const BIGGER = {
  ...REMOTE,
  version: '1.1.0',
  actions: [spec('metal.forge_nail'), spec('metal.forge_nail', '2.0.0')],
};

const inDays = (now: number, days: number) => new Date(now + days * 86_400_000).toISOString();

const asks = (now: number): Move[] => {
  const own = requests(now);
  const others = own.map((move) => ({
    ...move,
    name: `${move.name}, by another`,
    principal: { sub: 'another', roles: [] },
  }));
  return [...own, ...others];
};

const requests = (now: number): Move[] => {
  const register = (name: string, registration: object): Move => ({
    name,
    event: { type: 'registry.register_agent', agent_id: 'smith', ...registration },
  });
  const deprecate = (name: string, sunset_at: string, action = 'metal.forge_nail'): Move => ({
    name,
    event: { type: 'registry.deprecate_action', agent_id: 'smith', action, major: 1, sunset_at },
  });
  return [
    register('register of this code', LOCAL),
    register('register outside', REMOTE),
    register('register more', BIGGER),
    { name: 'heartbeat', event: { type: 'registry.send_heartbeat', agent_id: 'smith' } },
    deprecate('deprecate', inDays(now, DEPRECATION_MS / 86_400_000 + 2)),
    deprecate('deprecate too soon', inDays(now, 29)),
    deprecate('deprecate at no time', 'tomorrow'),
    deprecate('deprecate what is not offered', inDays(now, 40), 'metal.melt_ore'),
    { name: 'remove', event: { type: 'registry.remove_agent', agent_id: 'smith' } },
  ];
};

const refusal = { code: 'INVALID_ARGUMENT' as ErrorCode, message: 'no schema' };

const answers: Move[] = [
  { name: 'there is room', event: { type: 'reply', to: 'm', result: null } },
  { name: 'there is no room', event: { type: 'reply', to: 'm', error: refusal } },
].map((move) => ({ ...move, from: registry, tell: true }));

export const exploration: Exploration = {
  machine: listingMachine,
  self,
  ledger: () => new Watch(),
  // While schemas are checked, messages wait in the stash.
  moves: (live, now) =>
    live.snapshot.value === 'enrolling'
      ? answers
      : live.snapshot.value === 'checking'
        ? [
            { name: 'schemas are good', job: 'checkSpecs', output: {} },
            { name: 'schemas are bad', job: 'checkSpecs', output: { refused: refusal } },
            {
              name: 'schemas cannot be checked',
              job: 'checkSpecs',
              error: { ...refusal, code: 'INTERNAL' },
            },
          ]
        : live.snapshot.value === 'ended'
          ? []
          : asks(now),
  key: (live) => {
    const { registration, asked, sunsets, owner } = contextOf(live);
    return [
      live.snapshot.value,
      registration?.version,
      registration?.url,
      asked?.version,
      asked?.url,
      owner,
      asked?.owner,
      sunsets.length,
      Object.keys(live.timers).length,
    ];
  },
};
