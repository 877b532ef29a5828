/** `troupe actors` and `troupe inspect` as processes, against a real program. */
import { once } from 'node:events';
import { type AddressInfo, Server } from 'node:net';
import { createWebSocketReceiver } from '@statelyai/inspect';
import { createInspectorServer } from '@statelyai/inspect/server';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocketServer } from 'ws';
import type { ActorTurn } from '../../protocols/actor-view.ts';
import { install } from '../agent-runs/installation.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { TOKEN } from './gateway.ts';
import { runProgram, startProgram } from './program.ts';

const main = 'default/session/agent:main:main';

const running = async () => {
  const troupe = await install({ config: {} });
  await troupe.run('agent:main:main', 'echo one');
  const at = ['--url', troupe.url.replace('http', 'ws'), '--token', TOKEN];
  return { troupe, at };
};

describe('troupe actors', () => {
  it('prints what an actor accepts, and its turns with their transitions', async () => {
    const { troupe, at } = await running();
    const shown = await runProgram(['actors', 'show', main, ...at]);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toMatch(/^state +"idle"$/m);
    expect(shown.stdout).toMatch(/^accepts +.*session\.receive/m);

    const watch = startProgram(['actors', 'watch', main, '--turns', '3', '--json', ...at]);
    // Turns before the stream has begun are not printed.
    await eventually(async () => {
      await troupe.run('agent:main:main', 'echo two');
      expect(watch.stdout.split('\n').length).toBeGreaterThan(3);
    });
    expect(await watch.ended).toMatchObject({ code: 0 });
    const lines = watch.stdout.trim().split('\n');
    const turns = lines.map((line) => JSON.parse(line) as ActorTurn);
    const received = turns.find(({ input }) => input === 'session.receive');
    const answered = turns.find(({ input }) => input === 'outcome of callModel: done');
    expect(received).toMatchObject({ result: 'applied', opened: ['callModel'] });
    expect(answered?.path?.at(-1)).toBe('idle');
  });

  it('names what is wrong with an address, a token and an actor', async () => {
    const { at } = await running();
    expect(await runProgram(['actors', 'show', 'nonsense', ...at])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('write tenant/type/key'),
    });
    expect(await runProgram(['actors', 'show', 'default/agent/none', ...at])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('does not exist'),
    });
    const wrong = [...at.slice(0, 2), '--token', 'wrong'];
    expect(await runProgram(['actors', 'watch', main, ...wrong])).toMatchObject({ code: 4 });
  });
});

describe('troupe inspect', () => {
  it('prints a URL that a receiver of Stately’s inspector can use', async () => {
    const { at } = await running();
    const { code, stdout } = await runProgram(['inspect', main, ...at]);
    expect(code).toBe(0);
    const frames: object[] = [];
    const receiver = createWebSocketReceiver({ server: stdout.trim() });
    receiver.subscribe((frame) => void frames.push(frame));
    await eventually(() => expect(frames).toMatchObject([{ sessionId: main }]));
    expect(await runProgram(['inspect', 'default/agent/none', ...at])).toMatchObject({ code: 2 });
  });

  it('sends frames to an inspector until that ends', async () => {
    const { at } = await running();
    const inspector = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    onTestFinished(() => inspector.close());
    await once(inspector, 'listening');
    const { port } = inspector.address() as AddressInfo;
    const received: string[] = [];
    inspector.on('connection', (socket) =>
      socket.on('message', (data: Buffer) => received.push(data.toString())),
    );
    const sending = startProgram(['inspect', main, '--to', `ws://127.0.0.1:${port}`, ...at]);
    await eventually(() => expect(received).toHaveLength(1));
    expect(JSON.parse(received[0] ?? '')).toMatchObject({ type: '@xstate.actor' });
    for (const client of inspector.clients) client.close();
    expect(await sending.ended).toMatchObject({ code: 3 });
  });

  it('sends frames through the relay of Stately’s inspector', async () => {
    const { troupe, at } = await running();
    const relay = `ws://127.0.0.1:${await startRelay()}`;
    const sending = startProgram(['inspect', main, '--to', relay, ...at]);
    await eventually(() => expect(sending.stderr).toContain('sending to'));
    const frames: { type: string; sessionId: string }[] = [];
    createWebSocketReceiver({ server: relay }).subscribe((frame) => void frames.push(frame));
    await eventually(() => expect(frames[0]).toMatchObject({ type: '@xstate.actor' }));
    await troupe.run('agent:main:main', 'echo two');
    await eventually(() => expect(frames.map(({ type }) => type)).toContain('@xstate.snapshot'));
    expect(new Set(frames.map(({ sessionId }) => sessionId))).toEqual(new Set([main]));
    sending.child.kill('SIGINT');
    await sending.ended;
  });
});

/**
 * The relay of `@statelyai/inspect`, unmodified, except that it listens on the loopback address.
 */
async function startRelay(): Promise<number> {
  const port = await reservePort();
  const listen = vi.spyOn(Server.prototype, 'listen').mockImplementationOnce(function (
    this: Server,
    ...[to, listening]: Parameters<Server['listen']>
  ) {
    listen.mockRestore();
    return this.listen(to as number, '127.0.0.1', listening);
  });
  const relay = createInspectorServer({ port, autoOpen: false });
  onTestFinished(() => relay.stop());
  return port;
}
