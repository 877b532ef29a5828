/** Running actors in Stately's inspector: an unmodified receiver of `@statelyai/inspect`. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { createWebSocketReceiver, type StatelyInspectionEvent } from '@statelyai/inspect';
import { createMachine } from 'xstate';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { type Installation, install } from '../../agent-runs/installation.ts';
import { eventually } from '../../runtime/eventually.ts';
import { TOKEN } from '../gateway/client.ts';

const main = 'default/session/agent:main:main';
const KEY = 'sk-a-secret-of-the-installation';

const urlOf = ({ url }: Installation, query: Record<string, string>): string =>
  `${url.replace('http', 'ws')}v1/inspect?${new URLSearchParams(query)}`;

type Frame = StatelyInspectionEvent & { readonly snapshot?: { value: unknown; context: object } };

const receive = (server: string): Frame[] => {
  const frames: Frame[] = [];
  createWebSocketReceiver({ server }).subscribe((frame) => void frames.push(frame as Frame));
  return frames;
};

/** The HTTP status with which the upgrade is refused. */
const refusal = (url: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    socket.on('unexpected-response', (_, { statusCode = 0 }) => resolve(statusCode));
    socket.on('open', () => reject(new Error('the connection was opened')));
    socket.on('error', () => {});
  });

it('sends the chart of an actor, then every event and state', async () => {
  const troupe = await install({ config: {} });
  await troupe.run('agent:main:main', 'echo one');
  const frames = receive(urlOf(troupe, { actor: main, token: TOKEN }));
  await eventually(() => expect(frames).toHaveLength(1));
  const [first] = frames;
  expect(first).toMatchObject({
    type: '@xstate.actor',
    sessionId: main,
    rootId: main,
    snapshot: { status: 'active', value: 'idle', context: {} },
  });
  const { definition = '' } = first as { definition?: string };
  const machine = createMachine(JSON.parse(definition) as Parameters<typeof createMachine>[0]);
  expect(Object.keys(machine.states)).toContain('running');
  expect(definition).not.toContain('=>');

  await troupe.run('agent:main:main', 'echo two');
  await eventually(() => expect(frames).toHaveLength(5));
  expect(frames.slice(1).map(({ type }) => type)).toEqual([
    '@xstate.event',
    '@xstate.snapshot',
    '@xstate.event',
    '@xstate.snapshot',
  ]);
  expect(frames[1]).toMatchObject({ event: { type: 'session.receive' } });
  expect(frames[2]?.snapshot?.value).toEqual({ running: { working: 'thinking' } });
  expect(frames[3]).toMatchObject({ event: { type: 'xstate.done.actor.model' } });
  expect(frames[4]?.snapshot).toEqual({ status: 'active', value: 'idle', context: {} });
});

it('sends several actors in the requested order, and contexts with secrets masked', async () => {
  const config = {
    models: { providers: { anthropic: { apiKey: KEY } } },
    agents: { defaults: { model: 'offline/troupe-offline' } },
  };
  const troupe = await install({ config });
  await troupe.run('agent:main:main', `echo ${KEY}`);
  const query = `actor=${encodeURIComponent('default/agent/main')}&actor=${encodeURIComponent(main)}`;
  const frames = receive(urlOf(troupe, { context: 'true', token: TOKEN }) + `&${query}`);
  await eventually(() => expect(frames).toHaveLength(2));
  expect(frames.map(({ sessionId }) => sessionId)).toEqual(['default/agent/main', main]);
  expect(frames[1]?.snapshot?.context).toMatchObject({ sessionKey: 'agent:main:main' });
  await troupe.run('agent:main:main', `echo ${KEY}`);
  await eventually(() =>
    expect(frames.filter(({ sessionId }) => sessionId === main).length).toBeGreaterThan(4),
  );
  expect(JSON.stringify(frames)).not.toContain(KEY);
});

it('follows actors that the inspected one creates, as its children, and no others', async () => {
  const troupe = await install({ config: {} });
  await troupe.run('agent:main:main', 'echo one');
  const frames = receive(urlOf(troupe, { actor: main, children: 'true', token: TOKEN }));
  await eventually(() => expect(frames).toHaveLength(1));
  const call = { task: 'say hello', wait: true };
  await troupe.run('agent:main:main', `call sessions_spawn ${JSON.stringify(call)}`);
  const announced = () => frames.filter(({ type }) => type === '@xstate.actor');
  await eventually(() => expect(announced().length).toBeGreaterThanOrEqual(3));
  const [first, ...children] = announced();
  expect(first).toMatchObject({ sessionId: main });
  for (const child of children) {
    expect(child.sessionId).toMatch(/^default\/(subagent|session)\//);
    const { parentId } = child as { parentId?: string };
    expect(frames.findIndex(({ sessionId }) => sessionId === parentId)).toBeLessThan(
      frames.indexOf(child),
    );
  }
  // The agent exists already, and receives a message at the end of each run.
  expect(frames.map(({ sessionId }) => sessionId)).not.toContain('default/agent/main');
  await eventually(() => {
    for (const { sessionId } of children)
      expect(frames.filter((frame) => frame.sessionId === sessionId).length).toBeGreaterThan(1);
  });
});

it('is for operators of the tenant of the actors', async () => {
  const tenants = { acme: { token: 'token-of-acme' } };
  const troupe = await install({ config: { tenants } });
  expect(await refusal(urlOf(troupe, { actor: main }))).toBe(401);
  expect(await refusal(urlOf(troupe, { actor: main, token: 'wrong' }))).toBe(401);
  expect(await refusal(urlOf(troupe, { actor: main, token: 'token-of-acme' }))).toBe(404);
  expect(
    await refusal(urlOf(troupe, { actor: main, token: 'token-of-acme', tenant: 'default' })),
  ).toBe(403);
  expect(await refusal(urlOf(troupe, { token: TOKEN }))).toBe(400);
  expect(await refusal(urlOf(troupe, { actor: 'nonsense', token: TOKEN }))).toBe(400);
});

it('ends with the program, and frees the place of a client that is gone', async () => {
  const troupe = await install({ config: {} });
  await troupe.run('agent:main:main', 'echo one');
  const url = urlOf(troupe, { actor: main, token: TOKEN });
  const first = new WebSocket(url);
  await once(first, 'message');
  first.terminate();
  const second = new WebSocket(url);
  await once(second, 'message');
  const closed = once(second, 'close');
  await troupe.stop();
  expect((await closed)[0]).toBe(1012);
});

it('refuses clients that never close their side, and holds no place for them', async () => {
  const troupe = await install({ config: {} });
  await troupe.run('agent:main:main', 'echo one');
  const { port, hostname } = new URL(troupe.url);
  const upgrade =
    `GET /v1/inspect?actor=${encodeURIComponent(main)} HTTP/1.1\r\nHost: ${hostname}\r\n` +
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
  const refused = await Promise.all(
    Array.from({ length: 60 }, async () => {
      const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => {});
      socket.write(upgrade);
      const [data] = (await once(socket, 'data')) as [Buffer];
      return data.toString().slice(0, 12);
    }),
  );
  expect(new Set(refused)).toEqual(new Set(['HTTP/1.1 401']));
  const operator = new WebSocket(urlOf(troupe, { actor: main, token: TOKEN }));
  await once(operator, 'message');
  // A socket that is still open would hold the port.
  await troupe.stop();
});
