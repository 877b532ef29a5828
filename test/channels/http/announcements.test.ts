/** Deprecations of action versions are published over HTTP and the gateway, without NATS. */
import { expect, it } from 'vitest';
import { spec } from '../../actors/listing/walk.ts';
import { install } from '../../agent-runs/installation.ts';
import { address } from '../../../protocols/address.ts';
import { connected, eventually, TOKEN } from '../gateway/client.ts';
import type { Message } from '../../../protocols/statechart.ts';

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

/** What a stream has sent so far, until `stop`. */
const listen = async (url: string, token = TOKEN) => {
  const controller = new AbortController();
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(new URL('/v1/events', url), { headers, signal: controller.signal });
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ]);
  let text = '';
  const read = async () => {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk;
  };
  const done = read().catch(() => {});
  const stop = async () => {
    controller.abort();
    await done;
  };
  return { text: () => text, stop };
};

it('reaches streams of the tenant, connected clients, and late subscribers', async () => {
  const troupe = await install({ config: { tenants: { acme: { token: 'token-of-acme' } } } });
  const ask = async (event: Message) => {
    const to = address('default', 'listing', 'smith');
    const principal = { sub: 'ada', roles: ['agent'] };
    const answer = await troupe.system.ask(to, event, { principal, timeoutMs: 20_000 });
    expect(answer).toMatchObject({ kind: 'answered' });
  };
  const actions = ['1.0.0', '2.3.0'].map((version) => spec('metal.forge_nail', version));
  const url = 'https://smith.example';
  await ask({ type: 'registry.register_agent', agent_id: 'smith', version: '1.0.0', url, actions });
  const stream = await listen(troupe.url);
  const acme = await listen(troupe.url, 'token-of-acme');
  const client = await connected(troupe);
  const sunset_at = inDays(40);
  const end = { agent_id: 'smith', action: 'metal.forge_nail', major: 1, sunset_at };
  await ask({ type: 'registry.deprecate_action', ...end });

  const announced = { event: 'metal.forge_nail.deprecation', ...end, successor: '2.3.0' };
  const sent = `event: metal.forge_nail.deprecation\ndata: ${JSON.stringify(announced)}\n\n`;
  await eventually(() => (stream.text() === sent ? true : undefined), 'the event of the stream');
  const frame = await eventually(
    () => client.events('action.deprecation').at(0),
    'the event of the gateway',
  );
  expect(frame.payload).toEqual(announced);

  const later = await listen(troupe.url);
  await eventually(() => (later.text() === sent ? true : undefined), 'what holds already');
  expect(acme.text()).toBe('');
  await Promise.all([stream, acme, later].map((one) => one.stop()));
  await client.close();
});

it('is refused without a token', async () => {
  const troupe = await install({ config: {} });
  expect((await fetch(new URL('/v1/events', troupe.url))).status).toBe(401);
});
