import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { METHOD_NAMES } from '../../../../channels/gateway/methods/index.ts';
import { HANDSHAKE_FRAME_BYTES_MAX } from '../../../../protocols/gateway/index.ts';
import { connectParams, eventually, type Frame, TOKEN } from '../client.ts';
import { challengeOf, newDevice, signed } from '../devices/device-identity.ts';
import { FakeSessionSystem } from '../fake-session-system.ts';
import { closeAll, openClient, openGateway, openChallenged } from '../opened.ts';
import { StillClock } from '../still-clock.ts';

afterEach(closeAll);

test('a frame that is too long before the handshake ends the connection, not the gateway', async () => {
  const gateway = await openGateway();
  const client = await openChallenged(gateway);
  client.ws.send('x'.repeat(HANDSHAKE_FRAME_BYTES_MAX * 4));
  expect((await client.gone()).code).toBe(1009);
  await openClient(gateway);
});

test('a connect of 64 KiB is read, one of a byte more is not', async () => {
  const gateway = await openGateway();
  const connectOf = (bytes: number) => {
    const frame = (userAgent: string) =>
      JSON.stringify({
        type: 'req',
        id: 'c',
        method: 'connect',
        params: { ...connectParams(), userAgent },
      });
    return frame('x'.repeat(bytes - frame('').length));
  };
  const longest = await openChallenged(gateway);
  longest.ws.send(connectOf(HANDSHAKE_FRAME_BYTES_MAX));
  expect((await longest.frame(({ id }) => id === 'c')).ok).toBe(true);
  longest.request('connect', connectParams(), 'again');
  expect((await longest.frame(({ id }) => id === 'again')).error?.message).toBe(
    'connect must be the first request of a connection',
  );
  const tooLong = await openChallenged(gateway);
  tooLong.ws.send(connectOf(HANDSHAKE_FRAME_BYTES_MAX + 1));
  expect((await tooLong.gone()).code).toBe(1009);
});

test('text that cannot be stored is refused with the name of its field', async () => {
  const client = await openClient(await openGateway());
  const refusal = async (params: object, id: string) => {
    client.request('agent', { message: 'hi', idempotencyKey: id, ...params }, id);
    return (await client.frame((frame) => frame.id === id)).error?.message;
  };
  expect(await refusal({ idempotencyKey: '\ud800' }, 'key')).toBe(
    '/idempotencyKey has a lone surrogate',
  );
  expect(await refusal({ sessionKey: 'agent:main:\ud800' }, 'session')).toMatch(
    /has a lone surrogate/,
  );
});

test('frames after connect wait for its answer, and are bounded until then', async () => {
  const gateway = await openGateway();
  const client = await openChallenged(gateway);
  client.request('connect', connectParams(), 'first');
  client.request('health', {}, 'second');
  expect((await client.frame(({ id }) => id === 'second')).ok).toBe(true);
  const ids = client.frames.flatMap(({ id }) => id ?? []);
  expect(ids).toEqual(['first', 'second']);
});

test('a connection has one attempt to authenticate', async () => {
  const client = await openChallenged(await openGateway());
  client.request('connect', connectParams({ auth: { token: 'wrong' } }), 'first');
  client.request('connect', connectParams(), 'second');
  expect((await client.frame(({ id }) => id === 'first')).ok).toBe(false);
  expect((await client.gone()).code).toBe(1008);
  expect(client.frames.some(({ id }) => id === 'second')).toBe(false);
});

/** Values that often cause failures. */
const nasty = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom('__proto__', 'constructor', '\u0000', '\ud800', '../../etc/passwd', ' '),
  fc.integer(),
  fc.constantFrom(-1, 1e308, Number.MIN_VALUE, 2 ** 53),
  fc.string({ maxLength: 300, unit: 'binary' }),
);
const key = fc.constantFrom(
  'sessionKey',
  'key',
  'message',
  'idempotencyKey',
  'id',
  'limit',
  'agentId',
  'deviceId',
  'role',
  'scopes',
  'requestId',
  'runId',
  'nodeId',
  'command',
  'patch',
  '__proto__',
  'text',
);
const params = fc.oneof(nasty, fc.dictionary(key, nasty, { maxKeys: 5 }));
const frame = fc.oneof(
  fc.record({
    type: fc.constantFrom<string>('req', 'req', 'req', 'res', 'event', ''),
    id: fc.oneof(fc.uuid(), nasty),
    method: fc.oneof(fc.constantFrom(...METHOD_NAMES), fc.string({ maxLength: 40 })),
    params,
  }),
  nasty,
);

const hostileFrames = (count: number, seed: number): readonly string[] =>
  fc.sample(frame, { numRuns: count, seed }).map((value, at) => {
    const text = JSON.stringify(value) ?? 'undefined';
    if (at % 10 === 0) return text.slice(0, -1);
    return at % 10 === 1 ? text.replaceAll('"', '') : text;
  });

test('10,000 hostile frames of an operator are each answered or end the connection, and leave no state', async () => {
  const lines: string[] = [];
  const keep = (fields: object | string, text?: string) =>
    void lines.push(`${typeof fields === 'string' ? fields : JSON.stringify(fields)} ${text}`);
  const log = { debug: keep, info: keep, warn: keep, error: keep };
  const system = new FakeSessionSystem();
  const gateway = await openGateway(system, { log });
  const codes = new Set<string>();
  const before = process.memoryUsage().rss;
  for (let round = 0; round < 10; round++) {
    const client = await openClient(gateway, {
      scopes: ['operator.read', 'operator.approvals', 'operator.pairing'],
    });
    const answers = () =>
      client.frames.filter((each: Frame) => each.type === 'res' && each.id !== '1').length;
    const frames = hostileFrames(1_000, round);
    for (const text of frames) client.ws.send(text);
    await eventually(
      () => (answers() >= frames.length || client.closed !== undefined ? true : undefined),
      'an answer to every frame',
    );
    for (const { error } of client.frames) if (error) codes.add(error.code);
    await client.close();
  }
  expect([...codes].toSorted()).toEqual(expect.arrayContaining(['FORBIDDEN', 'INVALID_REQUEST']));
  expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024);
  const after = await openClient(gateway);
  expect((await after.call('health', {})).ok).toBe(true);
  expect(lines.join('\n')).not.toContain(TOKEN);
  expect(lines.filter((line) => line.includes('a method failed'))).toEqual([]);
}, 60_000);

test('2,000 hostile connects are refused with a code, and no secret is written to the log', async () => {
  const lines: string[] = [];
  const keep = (fields: object | string, text?: string) =>
    void lines.push(`${typeof fields === 'string' ? fields : JSON.stringify(fields)} ${text}`);
  const log = { debug: keep, info: keep, warn: keep, error: keep };
  const clock = new StillClock();
  const gateway = await openGateway(undefined, {
    log,
    clock,
    auth: { mode: 'token', token: TOKEN, rateLimit: { exemptLoopback: true } },
  });
  const values = fc.sample(nasty, { numRuns: 2_000, seed: 7 });
  const secrets: string[] = [];
  for (let at = 0; at < values.length; at += 20) {
    const batch = values.slice(at, at + 20).map(async (value, each) => {
      const client = await openChallenged(gateway);
      const secret = randomBytes(12).toString('hex');
      secrets.push(secret);
      const { error } = await client.call('connect', hostileConnect(value, each, secret, client));
      expect(error?.code).toMatch(/^(INVALID_REQUEST|NOT_PAIRED)$/);
      expect((await client.gone()).code).toBe(1008);
    });
    await Promise.all(batch);
  }
  const written = lines.join('\n');
  expect(secrets.filter((secret) => written.includes(secret))).toEqual([]);
  expect(written).not.toContain(TOKEN);
  await openClient(gateway);
}, 60_000);

const hostileConnect = (
  value: unknown,
  at: number,
  secret: string,
  client: Parameters<typeof challengeOf>[0],
): unknown => {
  const good = connectParams({ auth: { token: secret } });
  const { nonce, ts } = challengeOf(client);
  const proof = signed(newDevice(), good, { nonce, signedAt: ts });
  switch (at % 5) {
    case 0:
      return value;
    case 1:
      return { ...good, auth: value };
    case 2:
      return { ...good, device: value, auth: { token: secret, password: secret } };
    case 3:
      return {
        ...good,
        auth: { deviceToken: secret },
        device: { ...proof, signature: JSON.stringify(value) ?? 'x' },
      };
    default:
      return { ...good, device: proof, client: { ...good.client, displayName: value } };
  }
};
