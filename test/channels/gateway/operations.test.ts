/** Operations and the turns of actors over the WebSocket of a real program. */
import { expect, it, onTestFinished } from 'vitest';
import { RESOURCES } from '../../../operations/index.ts';
import { gatewayScopeOf, type Operation } from '../../../operations/operation.ts';
import type { ActorSummary, ActorTurn } from '../../../protocols/actor-view.ts';
import { type ActorTurnEvent, ACTORS_WATCHED_MAX } from '../../../protocols/gateway/index.ts';
import { install } from '../../agent-runs/installation.ts';
import { eventually } from '../../runtime/eventually.ts';
import { type Client, connected, type Frame, TOKEN } from './client.ts';
import { openGateway, closeAll, openClient } from './opened.ts';

const MAIN_ACTOR = 'default/session/agent:main:main';
const OF_ACME = 'the-token-of-acme';
const OPERATIONS: readonly Operation[] = RESOURCES.flatMap(({ operations }) => operations);

const connect = async (troupe: { readonly url: string }, more: object = {}): Promise<Client> => {
  const client = await connected(troupe, more);
  onTestFinished(() => client.close());
  return client;
};
const run = (client: Client, name: string, more: object = {}): Promise<Frame> =>
  client.call('operations.run', { name, ...more });

const turnsOf = (client: Client): readonly ActorTurnEvent[] =>
  client.events('actor.turn').map(({ payload }) => payload as ActorTurnEvent);

it('returns what the HTTP request of the operation returns', async () => {
  const troupe = await install({ config: {} });
  const client = await connect(troupe);
  const { ok, payload } = await run(client, 'actors.list', { params: { type: 'agent' } });
  const headers = { authorization: `Bearer ${TOKEN}` };
  const response = await fetch(new URL('/v1/actors?type=agent', troupe.url), { headers });
  expect({ ok, payload }).toEqual({ ok: true, payload: await response.json() });
  expect(payload.actors.map(({ actor }: ActorSummary) => actor)).toContain('default/agent/main');
});

it('refuses unknown operations and parameters that the schema refuses', async () => {
  const client = await connect(await install({ config: {} }));
  const refusals = [
    run(client, 'actors.lists'),
    run(client, 'actors.list', { params: { limit: 0 } }),
    run(client, 'actors.list', { params: { unknown: 1 } }),
    run(client, 'actors.show'),
    run(client, 'actors.show', { params: { actor: 'nonsense' } }),
    run(client, 'actors.list', { tenant: 'a/b' }),
    client.call('operations.run', { name: 'actors.list', params: [] }),
    client.call('operations.run', { name: 3 }),
    client.call('actors.watch', { actor: 'nonsense' }),
  ];
  for (const { error } of await Promise.all(refusals))
    expect(error).toMatchObject({ code: 'INVALID_REQUEST' });
});

it('needs the scope of the operation, and not that of another one', async () => {
  const troupe = await install({ config: {} });
  for (const only of ['operator.read', 'operator.approvals', 'operator.pairing']) {
    const client = await connect(troupe, { scopes: [only] });
    for (const operation of OPERATIONS) {
      // No operation accepts this parameter, so an authorized client is refused before any effect.
      const { error } = await run(client, operation.name, { params: { '': 1 } });
      const scope = gatewayScopeOf(operation);
      expect({ name: operation.name, details: error?.details }).toMatchObject({
        name: operation.name,
        details: scope === only ? { reason: 'INVALID_ARGUMENT' } : { missingScope: scope },
      });
    }
  }
});

it('keeps tenants apart as over HTTP', async () => {
  const troupe = await install({ config: { tenants: { acme: { token: OF_ACME } } } });
  const [acme, home] = [await connect(troupe, { auth: { token: OF_ACME } }), await connect(troupe)];
  const own = await run(acme, 'actors.list');
  expect(own.payload.actors.every(({ actor }: ActorSummary) => actor.startsWith('acme/'))).toBe(
    true,
  );
  const foreign = { params: { actor: MAIN_ACTOR } };
  expect(await run(acme, 'actors.show', foreign)).toMatchObject({
    error: { details: { reason: 'NOT_FOUND' } },
  });
  for (const { name, scope } of OPERATIONS) {
    const { error } = await run(acme, name, {
      params: { '': 1 },
      ...(scope === 'tenant' ? { tenant: 'default' } : {}),
    });
    expect({ name, error }).toMatchObject({ name, error: { code: 'FORBIDDEN' } });
  }
  const named = await run(home, 'actors.list', { tenant: 'acme' });
  const actors = named.payload.actors.map(({ actor }: ActorSummary) => actor);
  expect(actors).toEqual(
    expect.arrayContaining(own.payload.actors.map(({ actor }: ActorSummary) => actor)),
  );
  expect(actors).not.toContain('default/agent/main');
  const watch = { actor: MAIN_ACTOR };
  expect(await acme.call('actors.watch', watch)).toMatchObject({
    error: { details: { reason: 'NOT_FOUND' } },
  });
  expect(await home.call('actors.watch', { actor: 'acme/agent/main' })).toMatchObject({ ok: true });
});

it('records a change in the audit under the name of the operation', async () => {
  const client = await connect(await install({ config: {} }));
  await run(client, 'subagents.kill', { params: { id: 'none', reason: 'a test' } });
  await eventually(async () => {
    const { payload } = await client.call('audit.actions.list', { action: 'subagents.' });
    expect(payload.records).toMatchObject([
      { action: 'subagents.kill', on: { id: 'none' }, outcome: 'failed' },
    ]);
  });
});

it('sends the turns of a watched actor until it is unwatched', async () => {
  const troupe = await install({ config: {} });
  const client = await connect(troupe);
  const other = await connect(troupe, { scopes: ['operator.read'] });
  const watched = { actor: MAIN_ACTOR };
  for (const each of [client, client, other])
    expect(await each.call('actors.watch', watched)).toMatchObject({
      payload: { ...watched, watched: true },
    });
  await troupe.run('agent:main:main', 'echo hello');
  const isIdle = (turn: ActorTurn | undefined) => expect(turn?.state).toBe('idle');
  await eventually(() => isIdle(turnsOf(client).at(-1)?.turn));
  await eventually(() => expect(turnsOf(other)).toEqual(turnsOf(client)));
  expect(turnsOf(client)[0]).toMatchObject({
    actor: MAIN_ACTOR,
    turn: { input: 'session.receive', result: 'applied' },
  });
  const numbers = turnsOf(client).map(({ turn }) => turn!.turn);
  expect(numbers).toEqual([...new Set(numbers)]);

  await client.call('actors.unwatch', watched);
  const before = turnsOf(client).length;
  await troupe.run('agent:main:main', 'echo again');
  await eventually(() => expect(turnsOf(other).length).toBeGreaterThan(before));
  expect(turnsOf(client)).toHaveLength(before);
});

it('lets a connection watch a limited number of actors, and forgets them when it ends', async () => {
  const troupe = await install({ config: {} });
  const client = await connect(troupe);
  const watch = (n: number) => client.call('actors.watch', { actor: `default/none/${n}` });
  for (let n = 0; n < ACTORS_WATCHED_MAX; n++) expect(await watch(n)).toMatchObject({ ok: true });
  expect((await watch(ACTORS_WATCHED_MAX)).error?.message).toContain('unwatch some');
  await client.call('actors.unwatch', { actor: 'default/none/0' });
  expect(await watch(ACTORS_WATCHED_MAX)).toMatchObject({ ok: true });
});

it('refuses operations and watches to clients of a gateway that has no operations', async () => {
  onTestFinished(closeAll);
  const client = await openClient(await openGateway(undefined, { operations: undefined }));
  for (const answer of [
    run(client, 'actors.list'),
    client.call('actors.watch', { actor: MAIN_ACTOR }),
  ])
    expect(await answer).toMatchObject({ error: { code: 'UNAVAILABLE' } });
});
