import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { type DeviceNotice, devicesTopic } from '../../../../protocols/device.ts';
import type { Client, Frame } from '../client.ts';
import { connectParams, eventually, MAIN } from '../client.ts';
import { challengeOf, newDevice, signed } from '../devices/device-identity.ts';
import { FakeSessionSystem } from '../fake-session-system.ts';
import { closeAll, openAll, openClient, openGateway, openChallenged } from '../opened.ts';
import { dataFolder, openRealSystem } from '../real-system.ts';
import { StillClock } from '../still-clock.ts';

afterEach(closeAll);

/** The resume parameters for an earlier connection. */
const lost = (client: Client, seq = lastSeq(client)) => {
  const { connId, bootId } = client.frames.find(({ payload }) => payload?.type === 'hello-ok')!
    .payload.server;
  return { connId, bootId, seq };
};

const lastSeq = (client: Client): number =>
  client.frames.reduce((last, { seq = 0 }) => Math.max(last, seq), 0);

/** Cuts the connection, and waits until the gateway has noticed. */
const cut = async (client: Client, watcher: Client): Promise<void> => {
  const before = (await watcher.call('system-presence')).payload.length;
  client.ws.terminate();
  await client.gone();
  for (;;) {
    const { payload } = await watcher.call('system-presence');
    if (payload.length < before) return;
  }
};

const textOf = (frames: readonly Frame[]): string => {
  let text = '';
  for (const { event, payload } of frames) {
    if (event !== 'chat' || payload.state !== 'delta') continue;
    text = payload.replace ? payload.deltaText : text + payload.deltaText;
  }
  return text;
};

const numbersOf = (client: Client) => client.frames.flatMap(({ seq }) => seq ?? []);

describe('events.resume', () => {
  test('sends the device events that were missed', async () => {
    const { client: first, gateway, system } = await openAll();
    const watcher = await openClient(gateway);
    await cut(first, watcher);
    const deviceId = 'a'.repeat(64);
    const notice = { type: 'device.changed', deviceId, what: 'online' } satisfies DeviceNotice;
    system.bus.publish(devicesTopic('default'), notice);
    await watcher.frame(({ event }) => event === 'node.presence');
    const second = await openClient(gateway);
    expect((await second.call('events.resume', lost(first))).payload.resumed).toBe(true);
    const received = await second.frame(({ event }) => event === 'node.presence');
    expect(received.payload).toMatchObject({ nodeId: deviceId, connected: true });
  });

  test('sends the missed events after its answer, in order and once, and continues', async () => {
    const { client: first, gateway, system } = await openAll();
    const watcher = await openClient(gateway);
    await first.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey: 'r' });
    system.say(MAIN, 'one ');
    await first.chat('delta');
    await cut(first, watcher);
    system.say(MAIN, 'two ');
    await watcher.frame(({ payload }) => payload?.deltaText === 'two ');
    const second = await openClient(gateway);
    system.say(MAIN, 'three ');
    await second.frame(({ payload }) => payload?.deltaText === 'three ');
    const answer = await second.call('events.resume', lost(first));
    expect(answer.payload).toMatchObject({ resumed: true, from: lastSeq(first) + 1 });
    const { frames } = answer.payload as { frames: number };
    system.say(MAIN, 'four');
    await second.frame(({ payload }) => payload?.deltaText === 'four');
    const at = second.frames.indexOf(answer);
    const missed = second.frames.slice(at + 1, at + 1 + frames);
    const [held, after] = [second.frames.slice(0, at), second.frames.slice(at + 1 + frames)];
    expect(textOf([...first.frames, ...missed, ...held, ...after])).toBe('one two three four');
    const numbers = numbersOf(second);
    expect(numbers).toEqual(numbers.map((_, n) => n + 1));
    system.finish(MAIN, 'one two three four');
    await second.chat('final');
  });

  test('sends an end that was published while no client was connected', async () => {
    const { client: first, gateway, system } = await openAll();
    const watcher = await openClient(gateway);
    await first.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey: 'r' });
    await cut(first, watcher);
    system.finish(MAIN, 'done');
    await watcher.chat('final');
    const second = await openClient(gateway);
    expect(second.events('chat')).toEqual([]);
    await second.call('events.resume', lost(first));
    expect((await second.chat('final')).payload.message.content[0].text).toBe('done');
  });

  test('closes the old connection if it is still open', async () => {
    const { client: first, gateway } = await openAll();
    const second = await openClient(gateway);
    await second.call('events.resume', lost(first));
    expect((await first.gone()).code).toBe(1008);
    const again = await second.call('events.resume', lost(first));
    expect(again.payload).toEqual({ resumed: false, reason: 'too-old' });
  });

  test('reports the reason for a gap: another gateway, an unknown number, or an expired connection', async () => {
    const clock = new StillClock();
    const gateway = await openGateway(new FakeSessionSystem(), { clock });
    const first = await openClient(gateway);
    const second = await openClient(gateway);
    const ask = async (more: object) =>
      (await second.call('events.resume', { ...lost(first), ...more })).payload;
    expect(await ask({ bootId: 'another' })).toEqual({
      resumed: false,
      reason: 'another-gateway',
    });
    expect(await ask({ connId: 'unknown' })).toEqual({ resumed: false, reason: 'too-old' });
    expect(await ask({ seq: 1_000 })).toEqual({ resumed: false, reason: 'gap' });
    await cut(first, second);
    clock.move(60_000);
    expect(await ask({})).toEqual({ resumed: false, reason: 'too-old' });
  });

  test('stores only the last 256 events of a connection', async () => {
    const { client: first, gateway, system } = await openAll();
    const watcher = await openClient(gateway);
    await cut(first, watcher);
    for (let n = 0; n < 90; n++) {
      const idempotencyKey = `r${n}`;
      await watcher.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey });
      system.finish(MAIN, 'y'.repeat(n));
      await watcher.chat('final', n + 1);
    }
    const received = watcher.events('agent').length + watcher.events('chat').length;
    expect(received).toBeGreaterThan(256);
    const { payload } = await watcher.call('events.resume', lost(first));
    expect(payload).toEqual({ resumed: false, reason: 'too-old' });
  });

  test('sends nothing to a client with fewer rights than the one before', async () => {
    const { gateway } = await openAll();
    const approver = ['operator.admin', 'operator.approvals', 'operator.read'];
    const first = await openClient(gateway, { scopes: approver });
    const less = await openClient(gateway, { scopes: ['operator.read'] });
    const plain = await openClient(gateway, { scopes: approver, caps: [] });
    for (const other of [less, plain]) {
      const { payload } = await other.call('events.resume', lost(first));
      expect(payload).toEqual({ resumed: false, reason: 'too-old' });
    }
    const same = await openClient(gateway, { scopes: approver });
    expect((await same.call('events.resume', lost(first))).payload.resumed).toBe(true);
    await eventually(() => first.closed, 'the first connection to be closed');
  });
});

test('a node receives no run events and no presence, and cannot resume any', async () => {
  const { path, remove } = dataFolder();
  onTestFinished(remove);
  const system = await openRealSystem(path, 1_000);
  onTestFinished(() => system.stop());
  const gateway = await openGateway(system);
  const node = await openChallenged(gateway);
  const params = connectParams({
    client: { id: 'node-host', version: '1.0.0', platform: 'linux', mode: 'node' },
    role: 'node',
    scopes: [],
  });
  const { nonce, ts } = challengeOf(node);
  const device = signed(newDevice(), params, { nonce, signedAt: ts });
  expect(await node.call('connect', { ...params, device })).toMatchObject({ ok: true });
  const client = await openClient(gateway);
  await client.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey: 'r' });
  await client.chat('final');
  const refused = await node.call('events.resume', { connId: 'any', seq: 0 });
  expect(refused.ok).toBe(false);
  await client.frame(({ event }) => event === 'presence');
  const received = node.frames.flatMap(({ event }) => event ?? []);
  expect(received.filter((event) => ['chat', 'agent', 'presence'].includes(event))).toEqual([]);
  await closeAll();
});
