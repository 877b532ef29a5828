/** Actors of a real program over HTTP: list, one actor, and its turns as a stream. */
import { expect, it, onTestFinished } from 'vitest';
import type {
  ActorHistory,
  ActorSummary,
  ActorTurn,
  ActorTurnDetail,
  ActorView,
} from '../../../protocols/actor-view.ts';
import { install } from '../../agent-runs/installation.ts';
import { eventually } from '../../runtime/eventually.ts';
import { TOKEN } from '../gateway/client.ts';

type Server = { readonly url: string };

const get = async <T>({ url }: Server, path: string, token = TOKEN) => {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(new URL(path, url), { headers });
  return { status: response.status, body: (await response.json()) as T };
};
const at = (actor: string) => `/v1/actors/${encodeURIComponent(actor)}`;

/** The turns that a stream has sent so far. */
const watch = async ({ url }: Server, actor: string) => {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const headers = { authorization: `Bearer ${TOKEN}` };
  const { signal } = controller;
  const response = await fetch(new URL(`${at(actor)}/turns`, url), { headers, signal });
  expect(response.status).toBe(200);
  let text = '';
  const read = async () => {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk;
  };
  void read().catch(() => {});
  return () =>
    text
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => JSON.parse(line.slice('data: '.length)) as ActorTurn);
};

const main = 'default/session/agent:main:main';

it('lists actors by address, in pages and by type', async () => {
  const troupe = await install({ config: {} });
  const namesNow = async () => {
    const { body } = await get<{ actors: ActorSummary[] }>(troupe, '/v1/actors');
    return body.actors.map(({ actor }) => actor);
  };
  // The actors of a new installation are created soon after its start.
  const names = await eventually(async () => {
    const found = await namesNow();
    expect(found).toContain('default/registry/agents');
    expect(found).toContain('default/agent/main');
    expect(await namesNow()).toEqual(found);
    return found;
  });
  expect(names).toEqual(names.toSorted());
  const agents = await get<{ actors: ActorSummary[] }>(troupe, '/v1/actors?type=agent');
  expect(agents.body.actors.every(({ machine }) => machine.startsWith('agent@'))).toBe(true);
  // Others may still be created in the meantime.
  await eventually(async () => {
    const [first = '', ...others] = await namesNow();
    const path = `/v1/actors?after=${encodeURIComponent(first)}&limit=2`;
    const page = await get<{ actors: ActorSummary[] }>(troupe, path);
    expect(page.body.actors.map(({ actor }) => actor)).toEqual(others.slice(0, 2));
  });
  const last = encodeURIComponent('default/zzz/zzz');
  expect(await get(troupe, `/v1/actors?after=${last}`)).toMatchObject({ body: { actors: [] } });
  for (const query of [`type=${'x'.repeat(5_000)}`, `after=${'x'.repeat(5_000)}`, 'type=A%00'])
    expect(await get(troupe, `/v1/actors?${query}`)).toMatchObject({ status: 400 });
});

it('streams the turns of a session with its transitions, from its first message on', async () => {
  const troupe = await install({ config: {} });
  const turns = await watch(troupe, main);
  await troupe.run('agent:main:main', 'echo hello');
  await eventually(() => expect(turns().at(-1)?.state).toBe('idle'));
  const first = turns().length;
  expect(turns()[0]).toMatchObject({ input: 'session.receive', result: 'applied' });
  // The agent has admitted the run now: a run has two turns.
  await troupe.run('agent:main:main', 'echo again');
  await eventually(() => expect(turns()).toHaveLength(first + 2));
  const [received, answered] = turns().slice(-2);
  expect(received).toMatchObject({
    input: 'session.receive',
    result: 'applied',
    state: { running: { working: 'thinking' } },
    opened: ['callModel'],
  });
  expect(answered).toMatchObject({
    input: 'outcome of callModel: done',
    before: { running: { working: 'thinking' } },
    ended: ['callModel'],
  });
  expect(answered?.path?.at(-1)).toBe('idle');
  expect(answered?.path?.length).toBeGreaterThan(1);

  const shown = (await get<ActorView>(troupe, at(main))).body;
  expect(shown).toMatchObject({ actor: main, status: 'active', state: 'idle', effects: [] });
  expect(shown.accepts).toContain('session.receive');
  expect(shown).not.toHaveProperty('context');
  const { body } = await get<ActorView>(troupe, `${at(main)}?context=true`);
  expect(body.context).toMatchObject({ sessionKey: 'agent:main:main' });
});

it('lists the turns of a session, and shows one with its bodies', async () => {
  const troupe = await install({ config: {} });
  await troupe.run('agent:main:main', 'echo hello');
  const history = async (query = '') =>
    (await get<ActorHistory>(troupe, `${at(main)}/history${query}`)).body;
  await eventually(async () => expect((await history()).turns[0]?.state).toBe('idle'));
  const { kept, turns } = await history();
  expect(kept).toBe('full');
  const numbers = turns.map(({ turn }) => turn);
  expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));
  const first = turns.at(-1)!;
  expect(first).toMatchObject({ input: 'session.receive', result: 'applied' });
  expect(await history(`?limit=1&before=${numbers[0]}`)).toMatchObject({ turns: [turns[1]] });

  const one = async (query = '') =>
    (await get<ActorTurnDetail>(troupe, `${at(main)}/history/${first.turn}${query}`)).body;
  expect(await one()).toMatchObject({ ...first, body: { type: 'session.receive' } });
  expect(JSON.stringify((await one()).body)).toContain('echo hello');
  expect(await one()).not.toHaveProperty('context');
  expect((await one('?context=true')).context).toMatchObject({ sessionKey: 'agent:main:main' });
  expect(await get(troupe, `${at(main)}/history/999999`)).toMatchObject({ status: 404 });
});

it('shows a tenant only its own actors, and nothing without a token', async () => {
  const troupe = await install({ config: { tenants: { acme: { token: 'token-of-acme' } } } });
  const own = await get<{ actors: ActorSummary[] }>(troupe, '/v1/actors', 'token-of-acme');
  expect(own.body.actors.every(({ actor }) => actor.startsWith('acme/'))).toBe(true);
  for (const path of ['/v1/actors?tenant=default', `${at('default/agent/main')}?tenant=default`])
    expect(await get(troupe, path, 'token-of-acme')).toMatchObject({ status: 403 });
  const agent = at('default/agent/main');
  for (const path of [agent, `${agent}/turns`, `${agent}/history`, `${agent}/history/1`])
    expect(await get(troupe, path, 'token-of-acme')).toMatchObject({ status: 404 });
  expect(await get(troupe, `${at(main)}/turns`, 'wrong')).toMatchObject({ status: 401 });
  expect(await get(troupe, at('default/session/none'))).toMatchObject({ status: 404 });
  expect(await get(troupe, at('nonsense'))).toMatchObject({ status: 400 });
});
