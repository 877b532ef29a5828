/** Registry, heartbeats and offers on a running system: real store, real actors, real schemas. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shippedActors } from '../../../actors/index.ts';
import { registryActions } from '../../../actors/registry/actions.ts';
import { defineAction } from '../../../actors/task/action.ts';
import { ActionCatalog } from '../../../actors/task/catalog.ts';
import { createOffers } from '../../../actors/task/tenant-offers.ts';
import { localAgents, AgentRegistration } from '../../../actors/registry/agent-registration.ts';
import {
  type ActionSpec,
  AGENTS_INDEX,
  type AgentRow,
  DEPRECATION_MS,
} from '../../../protocols/action.ts';
import { address } from '../../../protocols/address.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { Message } from '../../../protocols/statechart.ts';
import { createSystem, openEmbedded, type System, systemClock } from '../../../runtime/index.ts';
import { spec } from '../listing/walk.ts';
import { eventually } from '../../runtime/eventually.ts';

const ada = { sub: 'ada', roles: ['agent'] };
const url = 'https://smith.example';

const greet = (version: string) =>
  defineAction({
    action: 'greeter.say_hello',
    version,
    description: 'says hello',
    agent: 'greeter',
    schemas: {
      '1.0': Type.Object(
        { schema_version: Type.Literal('1.0'), name: Type.String({ minLength: 2 }) },
        { additionalProperties: false },
      ),
    },
    perform: () => Promise.resolve('hello'),
  });
const catalog = new ActionCatalog([greet('1.2.0'), greet('2.0.0'), ...registryActions()]);

let path: string;
let system: System;
beforeEach(async () => {
  path = mkdtempSync(join(tmpdir(), 'troupe-registry-'));
  await open();
});
afterEach(async () => {
  await system.stop();
  rmSync(path, { recursive: true, force: true });
});
async function open(): Promise<void> {
  system = await createSystem({
    ...(await openEmbedded({ path })),
    actors: shippedActors(),
    shards: 2,
  });
}

async function ask(
  event: Message,
  principal = ada,
): Promise<Partial<AgentRow> & Partial<ErrorData>> {
  const listing = address('default', 'listing', String(event['agent_id']));
  const answer = await system.ask(listing, event, { principal, timeoutMs: 10_000 });
  if (answer.kind === 'answered') return answer.result as AgentRow;
  expect(answer.kind).toBe('refused');
  return (answer as { error: ErrorData }).error;
}
const register = (agent_id: string, actions: readonly ActionSpec[], more: object = { url }) =>
  ask({ type: 'registry.register_agent', agent_id, version: '1.0.0', actions, ...more });
const rowOf = (agentId: string) => system.index.get<AgentRow>(AGENTS_INDEX, 'default', agentId);
const forge = (schema: object, version = '1.0.0'): ActionSpec => ({
  ...spec('metal.forge_nail', version),
  schemas: { '1.0': schema as Record<string, unknown> },
});
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
const payload = (fields: object): Envelope['payload'] => ({ schema_version: '1.0', ...fields });

describe('the registry', () => {
  it('shows a registered agent until it is removed', async () => {
    expect(await register('smith', [forge({ type: 'object' })])).toMatchObject({
      agent_id: 'smith',
      status: 'live',
      url,
    });
    expect(rowOf('smith')).toMatchObject({
      status: 'live',
      actions: [{ action: 'metal.forge_nail' }],
    });
    expect(await ask({ type: 'registry.send_heartbeat', agent_id: 'smith' })).toMatchObject({
      agent_id: 'smith',
    });
    await ask({ type: 'registry.remove_agent', agent_id: 'smith' });
    await eventually(() => expect(rowOf('smith')).toBeUndefined());
    await eventually(async () =>
      expect(await ask({ type: 'registry.send_heartbeat', agent_id: 'smith' })).toMatchObject({
        code: 'NOT_FOUND',
      }),
    );
  });

  it('accepts an offer of an action of another agent only from operators', async () => {
    const admin = { sub: 'admin', roles: ['operator'] };
    const bob = { sub: 'bob', roles: ['agent'] };
    const offering = (agent_id: string, actions: readonly ActionSpec[]) => ({
      type: 'registry.register_agent',
      agent_id,
      version: '1.0.0',
      actions,
      url: `https://${agent_id}.example`,
    });
    await register('smith', [forge({})]);
    for (const version of ['1.0.0', '1.9.0', '2.0.0'])
      expect(await ask(offering('bobs', [forge({}, version)]), bob)).toMatchObject({
        code: 'CONFLICT',
        message: expect.stringMatching(/belongs to the agent smith/),
        details: { owner: 'smith' },
      });
    expect(await ask(offering('bobs', []), bob)).toMatchObject({ agent_id: 'bobs' });
    expect(await ask(offering('bobs', [forge({})]), admin)).toMatchObject({ agent_id: 'bobs' });
    expect(await ask(offering('bobs', [forge({}, '1.2.0')]), bob)).toMatchObject({
      agent_id: 'bobs',
    });
    expect(rowOf('bobs')?.claims).toMatchObject({ owner: 'bob', approved: ['metal.forge_nail'] });
    expect(await register('smith2', [forge({})])).toMatchObject({ agent_id: 'smith2' });
  });

  it('refuses actions of local agents to external agents', async () => {
    const beat = new AgentRegistration({ system, agents: localAgents(catalog, '0.1.0') });
    beat.registerWith('default');
    await eventually(() => expect(rowOf('greeter')).toBeDefined());
    beat.close();
    expect(await register('smith', [spec('greeter.say_hello', '3.0.0')])).toMatchObject({
      code: 'CONFLICT',
      details: { owner: 'greeter' },
    });
  });

  it('bounds all actions of an agent together', async () => {
    const large = (at: number): ActionSpec => ({
      ...forge({ description: 'x'.repeat(60_000) }),
      action: `metal.forge_nail_${at}`,
    });
    const answer = await register('smith', [1, 2, 3, 4, 5].map(large));
    expect(answer).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(await register('smith', [1, 2, 3, 4].map(large))).toMatchObject({ status: 'live' });
  });

  it.each([
    [
      'a schema that does not compile',
      forge({ type: 'nonsense' }),
      /not a valid JSON Schema 2020-12/,
    ],
    ['a schema that refers elsewhere', forge({ $ref: 'https://example/a.json' }), /2020-12/],
    ['an invalid action name', { ...forge({}), action: 'Metal.Forge' }, /not an action name/],
    [
      'an action that the cell itself has',
      { ...forge({}), action: 'registry.register_agent' },
      /cell's own/,
    ],
    ['a sunset that is too early', { ...forge({}), sunset_at: inDays(29) }, /30 days ahead/],
    ['a sensitive action', { ...forge({}), sensitive: true }, /sealed to this cell/],
    ['no semantic version', { ...forge({}), action_version: 'v1' }, /not a semantic version/],
    [
      'schemas of more than 64 KiB',
      forge({ description: 'x'.repeat(65_536) }),
      /65536 are allowed/,
    ],
  ])('refuses %s, and stores no part of the registration', async (_, bad, message) => {
    const answer = await register('smith', [forge({}, '2.0.0'), bad]);
    expect(answer['message']).toMatch(message);
    expect(rowOf('smith')).toBeUndefined();
    await eventually(async () =>
      expect(await ask({ type: 'registry.send_heartbeat', agent_id: 'smith' })).toMatchObject({
        code: 'NOT_FOUND',
      }),
    );
  });

  it('keeps agents and announcements across a restart', async () => {
    await register('smith', [forge({})]);
    const sunset_at = new Date(Date.now() + DEPRECATION_MS + 60_000).toISOString();
    await ask({
      type: 'registry.deprecate_action',
      agent_id: 'smith',
      action: 'metal.forge_nail',
      major: 1,
      sunset_at,
    });
    await system.stop();
    await open();
    expect(rowOf('smith')?.actions).toMatchObject([{ deprecated: true, sunset_at }]);
    await register('smith', [forge({}), forge({}, '2.0.0')]);
    expect(rowOf('smith')?.actions.map((one) => one.sunset_at)).toEqual([sunset_at, undefined]);
  });

  it('announces a sunset at once, with the version that replaces it', async () => {
    const events: Message[] = [];
    system.bus.subscribe('a2a.out.default.metal', ({ payload: event }) =>
      events.push(event as Message),
    );
    await register('smith', [forge({}), forge({}, '2.1.0')]);
    const sunset_at = new Date(Date.now() + DEPRECATION_MS + 60_000).toISOString();
    const deprecate = {
      type: 'registry.deprecate_action',
      agent_id: 'smith',
      action: 'metal.forge_nail',
    };
    const soon = new Date(Date.now() + DEPRECATION_MS - 60_000).toISOString();
    expect(await ask({ ...deprecate, major: 1, sunset_at: soon })).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await ask({ ...deprecate, major: 1, sunset_at });
    await eventually(() =>
      expect(events).toMatchObject([
        { event: 'metal.forge_nail.deprecation', major: 1, sunset_at, successor: '2.1.0' },
      ]),
    );
  });
});

describe('the heartbeat of a process', () => {
  it('registers the local agents with each new tenant, and again when one was removed', async () => {
    const agents = localAgents(catalog, '0.1.0', { task: [spec('task.get_status')] });
    const beat = new AgentRegistration({ system, agents });
    beat.registerWith('default');
    beat.registerWith('default');
    beat.registerWith('acme');
    const ids = (tenant: string) =>
      system.index.list<AgentRow>(AGENTS_INDEX, tenant).map(({ key }) => key);
    await eventually(() => expect(ids('default')).toEqual(['greeter', 'registry', 'task']));
    await eventually(() => expect(ids('acme')).toEqual(['greeter', 'registry', 'task']));
    beat.close();
    expect(rowOf('greeter')?.actions.map((one) => one.action_version)).toEqual(['1.2.0', '2.0.0']);
    expect(await register('greeter', [forge({})])).toMatchObject({ code: 'CONFLICT' });
  });

  it('sends heartbeats every five minutes, and registers agents that the registry lost', async () => {
    const due: (() => void)[] = [];
    const clock = {
      ...systemClock,
      after: (_: number, call: () => void) => (due.push(call), () => {}),
    };
    const agents = localAgents(new ActionCatalog([greet('1.0.0')]), '0.1.0');
    const beat = new AgentRegistration({ system, agents, clock });
    beat.registerWith('default');
    await eventually(() => expect(due).toHaveLength(1));
    expect(rowOf('greeter')?.status).toBe('live');
    const admin = { sub: 'admin', roles: ['operator'] };
    await ask({ type: 'registry.remove_agent', agent_id: 'greeter' }, admin);
    await eventually(() => expect(rowOf('greeter')).toBeUndefined());
    due[0]!();
    await eventually(() => expect(rowOf('greeter')?.status).toBe('live'));
    beat.close();
  });
});

describe('the offers of a tenant', () => {
  /** A clock that a test advances, so that tables are read again at once. */
  let aheadMs = 0;
  const offersOf = () => {
    aheadMs = 0;
    const clock = {
      ...systemClock,
      wallMs: () => Date.now() + aheadMs,
      monotonicMs: () => performance.now() + (aheadMs += 10_000),
    };
    return createOffers({ catalog, system, clock });
  };
  const found = (offers: ReturnType<typeof offersOf>, action: string, version: string) => {
    const answer = offers.find('default', action, version);
    return 'offer' in answer ? answer.offer : expect.unreachable(JSON.stringify(answer));
  };

  it('are those of local agents, each MAJOR version with its schemas', () => {
    const offers = offersOf();
    const offer = found(offers, 'greeter.say_hello', '1.1.9');
    expect(offer.spec.action_version).toBe('1.2.0');
    expect(offer.check(payload({ name: 'Ada' }))).toEqual([]);
    expect(offer.check(payload({ name: 'A' }))).toMatchObject([{ path: '/payload/name' }]);
    expect(offer.check({ schema_version: '3.0' })).toMatchObject([
      { path: '/payload/schema_version', message: 'must be one of "1.0"' },
    ]);
    expect(found(offers, 'greeter.say_hello', '2.0.0').spec.action_version).toBe('2.0.0');
    expect(offers.find('default', 'greeter.say_bye', '1.0.0')).toMatchObject({
      refused: { code: 'NOT_FOUND' },
    });
  });

  it.each(['1.3.0', '3.0.0', '2.0.1'])(
    'name the versions that serve when %s does not',
    (version) => {
      expect(offersOf().find('default', 'greeter.say_hello', version)).toMatchObject({
        refused: { code: 'INVALID_ARGUMENT', details: { supported: ['1.2.0', '2.0.0'] } },
      });
    },
  );

  it('include those of external agents, checked by their own schemas', async () => {
    const schema = {
      $id: 'https://smith.example/forge.json',
      type: 'object',
      required: ['length_mm'],
      properties: { schema_version: {}, length_mm: { type: 'integer' }, by: { format: 'date' } },
      additionalProperties: false,
    };
    await register('smith', [forge(schema)]);
    await register('other', [forge({ ...schema, required: [] }, '1.1.0')]);
    const offers = offersOf();
    const smith = found(offers, 'metal.forge_nail', '1.0.0');
    expect(await smith.check(payload({ length_mm: 1 }))).toEqual([]);
    expect(await smith.check(payload({ length_mm: 'x' }))).toMatchObject([
      { path: '/payload/length_mm' },
    ]);
    expect(await smith.check(payload({ by: 'today' }))).toMatchObject([{ path: '/payload/by' }]);
    expect(await smith.check(payload({ other: 1 }))).toMatchObject([{ path: '/payload/other' }]);
    expect(smith.terms({} as Envelope, 't')).toMatchObject({ performer: { kind: 'remote' } });
    expect(offers.all('default').map(({ action }) => action)).toContain('metal.forge_nail');
    expect(offers.all('acme').map(({ action }) => action)).not.toContain('metal.forge_nail');
  });

  it('end with the sunset that the registry announced', async () => {
    const beat = new AgentRegistration({ system, agents: localAgents(catalog, '0.1.0') });
    beat.registerWith('default');
    await eventually(() => expect(rowOf('greeter')).toBeDefined());
    beat.close();
    const sunset_at = new Date(Date.now() + DEPRECATION_MS + 60_000).toISOString();
    await ask(
      {
        type: 'registry.deprecate_action',
        agent_id: 'greeter',
        action: 'greeter.say_hello',
        major: 1,
        sunset_at,
      },
      { sub: 'admin', roles: ['operator'] },
    );
    const offers = offersOf();
    expect(found(offers, 'greeter.say_hello', '1.0.0').spec).toMatchObject({
      deprecated: true,
      sunset_at,
    });
    aheadMs += DEPRECATION_MS + 120_000;
    const refused = offers.find('default', 'greeter.say_hello', '1.0.0');
    expect(refused).toMatchObject({
      refused: { code: 'INVALID_ARGUMENT', details: { supported: ['2.0.0'] } },
    });
    expect(offers.all('default')).not.toContainEqual(
      expect.objectContaining({ action: 'greeter.say_hello', action_version: '1.2.0' }),
    );
  });
});
