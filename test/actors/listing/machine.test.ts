import { describe, expect, it } from 'vitest';
import { listingMachine } from '../../../actors/listing/machine.ts';
import { FRESH_MS } from '../../../actors/listing/life.ts';
import {
  type AgentRow,
  DEGRADED_AFTER_MS,
  DEPRECATION_MS,
  GONE_AFTER_MS,
} from '../../../protocols/action.ts';
import { address } from '../../../protocols/address.ts';
import type { Message, Meta, Project, Reply } from '../../../protocols/statechart.ts';
import {
  initialState,
  type Live,
  settled,
  step,
  type Step,
} from '../../../runtime/statechart/host.ts';
import { explore, requestsOf, exploreRandomly } from '../../charts/coverage.ts';
import { exploration, spec } from './walk.ts';

const self = address('default', 'listing', 'smith');
const ada = { sub: 'ada', roles: ['agent'] };
const bob = { sub: 'bob', roles: ['agent'] };
const admin = { sub: 'admin', roles: ['operator'] };

class Listing {
  live: Live;
  #n = 0;
  constructor() {
    const input = { self, tenant: 'default', key: 'smith', now: 0 };
    this.live = initialState(listingMachine, input, { id: 'm0', now: 0, self }).live;
  }
  tell(now: number, event: Message, principal = ada): Step {
    const id = `m${++this.#n}`;
    const meta: Meta = { id, now, self, principal, reply: { id } };
    return this.#keep(step(listingMachine, this.live, { event: { ...event, meta } }, now));
  }
  register(now: number, principal = ada, more: object = {}): Step {
    const registration = { version: '1.0.0', actions: [spec('metal.forge_nail')], ...more };
    const made = this.tell(now, { type: 'registry.register_agent', ...registration }, principal);
    if (this.live.snapshot.value === 'enrolling') this.tell(now, { type: 'reply', to: 'm' });
    const job = this.live.jobs['checkSpecs'];
    if (!job) return made;
    const meta: Meta = { id: `m${++this.#n}`, now, self };
    return this.#keep(
      step(listingMachine, this.live, settled('checkSpecs', job.key, {}, meta), now),
    );
  }
  #keep(made: Step): Step {
    this.live = made.live;
    return made;
  }
}
const codeOf = (made: Step) => requestsOf<Reply>(made.requests, 'reply')[0]?.error?.code;
const url = 'https://smith.example';

describe('the listing statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(exploreRandomly(exploration, 60)).toBe(60);
  });
});

describe('a listing', () => {
  it('is degraded after two missed heartbeats and gone after a day', () => {
    expect(DEGRADED_AFTER_MS).toBeGreaterThan(2 * 300_000);
    const listing = new Listing();
    listing.register(10);
    const due = Object.values(listing.live.timers).map((timer) => timer.due);
    expect(due).toContain(10 + DEGRADED_AFTER_MS);
    expect(GONE_AFTER_MS).toBe(86_400_000);
  });

  it('writes nothing for a heartbeat, or the same registration, just after another one', () => {
    const listing = new Listing();
    listing.register(0);
    const beat = { type: 'registry.send_heartbeat' };
    for (const made of [listing.tell(FRESH_MS - 1, beat), listing.register(FRESH_MS - 1)]) {
      expect(requestsOf<Project>(made.requests, 'project')).toEqual([]);
      expect(requestsOf<Reply>(made.requests, 'reply')[0]?.result).toMatchObject({
        agent_id: 'smith',
      });
    }
    const later = listing.tell(FRESH_MS, beat);
    expect(requestsOf<Project>(later.requests, 'project')).toMatchObject([
      { value: { last_seen_at: new Date(FRESH_MS).toISOString(), status: 'live' } },
    ]);
  });

  it('accepts requests only from the registering principal and operators', () => {
    const listing = new Listing();
    listing.register(0, ada, { url });
    expect(codeOf(listing.tell(1, { type: 'registry.send_heartbeat' }, bob))).toBe('FORBIDDEN');
    expect(codeOf(listing.tell(1, { type: 'registry.remove_agent' }, bob))).toBe('FORBIDDEN');
    expect(codeOf(listing.register(1, bob, { url: 'https://bob.example' }))).toBe('FORBIDDEN');
    expect(codeOf(listing.tell(1, { type: 'registry.remove_agent' }, admin))).toBeUndefined();
  });

  it('reserves the names of local agents, also where an external agent has taken one', () => {
    const local = new Listing();
    local.register(0, admin);
    expect(codeOf(local.register(1, admin, { url }))).toBe('CONFLICT');
    const outside = new Listing();
    outside.register(0, ada, { url });
    const made = outside.register(1, admin);
    expect(codeOf(made)).toBeUndefined();
    expect(requestsOf<Project>(made.requests, 'project').at(-1)?.value).not.toHaveProperty('url');
  });

  it('keeps each version that an external agent offers until its announced sunset', () => {
    const listing = new Listing();
    const [first, second] = [spec('metal.forge_nail'), spec('metal.forge_nail', '2.0.0')];
    listing.register(0, ada, { url, actions: [first] });
    const next = { url, actions: [second] };
    const refused = requestsOf<Reply>(listing.register(1, ada, next).requests, 'reply')[0]?.error;
    expect(refused?.code).toBe('INVALID_ARGUMENT');
    expect(refused?.message).toMatch(/version 1 of metal.forge_nail .*deprecate_action/);
    expect(codeOf(listing.register(2, ada, { url, actions: [first, second] }))).toBeUndefined();
    const end = 3 + DEPRECATION_MS;
    const sunset_at = new Date(end).toISOString();
    const deprecate = { type: 'registry.deprecate_action', action: 'metal.forge_nail', major: 1 };
    expect(codeOf(listing.tell(3, { ...deprecate, sunset_at }))).toBeUndefined();
    expect(codeOf(listing.register(end - 1, ada, next))).toBe('INVALID_ARGUMENT');
    expect(codeOf(listing.register(end, ada, next))).toBeUndefined();
  });

  it('drops agents that an operator removes and agents that the code no longer has', () => {
    const outside = new Listing();
    outside.register(0, ada, { url });
    expect(codeOf(outside.register(1, admin, { url, actions: [] }))).toBeUndefined();
    const local = new Listing();
    local.register(0, ada);
    expect(codeOf(local.register(1, ada, { actions: [] }))).toBeUndefined();
  });

  it('keeps its owner when an operator registers it, which approves its actions', () => {
    const listing = new Listing();
    listing.register(0, ada, { url });
    const rowIn = (made: Step) =>
      requestsOf<Project>(made.requests, 'project').at(-1)?.value as AgentRow;
    expect(rowIn(listing.register(1, admin, { url })).claims).toEqual({
      owner: 'ada',
      since: { 'metal.forge_nail': new Date(0).toISOString() },
      approved: ['metal.forge_nail'],
    });
    const more = { url, actions: [spec('metal.forge_nail'), spec('metal.melt_ore')] };
    expect(rowIn(listing.register(2, ada, more)).claims).toEqual({
      owner: 'ada',
      since: {
        'metal.forge_nail': new Date(0).toISOString(),
        'metal.melt_ore': new Date(2).toISOString(),
      },
      approved: ['metal.forge_nail'],
    });
  });
});
