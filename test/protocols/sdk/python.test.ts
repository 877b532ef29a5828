/** The Python SDK, run by the machine's own python3 against a whole troupe over real HTTP. */
import { createPrivateKey, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { startTcpProxy } from '../../../loadtest/faults/tcp-proxy.ts';
import { startFlakyProxy } from './flaky-server.ts';
import { type Live, startLive } from './live.ts';
import { type Running, startScenario, withoutPython } from './python.ts';

let live: Live;
beforeAll(async () => {
  if (withoutPython === undefined) live = await startLive();
});
afterAll(() => live?.stop());
beforeEach((context) => context.skip(withoutPython !== undefined, withoutPython));

const start = async (name: string, env: Record<string, string> = {}): Promise<Running> => {
  const sub = `py-${randomUUID()}`;
  return startScenario(name, { URL: live.url, SUB: sub, TOKEN: await live.token(sub), ...env });
};
const run = async (name: string, env: Record<string, string> = {}): Promise<unknown> =>
  (await start(name, env)).ended;
const flaky = async () => {
  const proxy = await startFlakyProxy(live.url);
  onTestFinished(() => proxy.close());
  return proxy;
};
const proxied = async () => {
  const proxy = await startTcpProxy(live.port);
  onTestFinished(() => proxy.close());
  return { proxy, URL: `http://127.0.0.1:${proxy.port}` };
};

describe('a task by the Python SDK', () => {
  it('is answered at once when it is done at once, by its typed method', async () => {
    expect(await run('typed')).toMatchObject([
      { state: 'SUCCEEDED', result: { text: 'hello' } },
      { state: 'SUCCEEDED', result: { text: 'again', more: [1.5, null] } },
    ]);
  });

  it('accepts null for a required field', async () => {
    expect(await run('nothing_there')).toBe(true);
  });

  it('is followed to its end when it takes longer, and yields each event once', async () => {
    expect(await run('followed')).toEqual({
      begun: false,
      events: [
        [1, 'conformance.run_slowly.accepted'],
        [2, 'conformance.run_slowly.running'],
        [3, 'conformance.run_slowly.done'],
      ],
      ended: 'SUCCEEDED',
    });
  });

  it('is cancelled, and undone', async () => {
    const undone = { undone: true };
    expect(await run('cancelled')).toEqual(['COMPENSATED', 'CANCELLED', 'COMPENSATED', undone]);
  });

  it('returns when it needs input, and continues with it', async () => {
    const ended = { state: 'SUCCEEDED', result: { input: { name: 'Ada' } } };
    expect(await run('asked')).toEqual([true, 'What is your name?', ended, 'CONFLICT']);
  });

  it('accepts a file in place of a payload that is too large, and stores evidence', async () => {
    const task = { state: 'SUCCEEDED', result: { bytes: 100_000 } };
    expect(await run('large')).toMatchObject(['PAYLOAD_TOO_LARGE', task, 'SUCCEEDED', true]);
  });

  it('stops waiting at the time limit, while the task continues', async () => {
    expect(await run('too_long')).toBe(true);
  });
});

describe('failures', () => {
  it('is reported with its code, its status and the field', async () => {
    expect(await run('refused')).toMatchObject([
      { code: 'INVALID_ARGUMENT', status: 400, details: { errors: [{ path: '/payload/text' }] } },
      { code: 'NOT_FOUND', status: 404 },
      { code: 'NOT_FOUND', status: 404 },
      { code: 'FORBIDDEN', status: 403 },
      { code: 'UNAUTHORIZED', status: 401 },
    ]);
  });

  it('is sent again with the same key, not before Retry-After, and the work is done once', async () => {
    const proxy = await flaky();
    proxy.plan('busy', 'lost', 'throttled', 'half', 'page');
    const task = await run('counted', { URL: proxy.url });
    expect(task).toEqual({ state: 'SUCCEEDED', result: { calls: 1 } });
    expect(proxy.came).toHaveLength(6);
    expect(new Set(proxy.came.map(({ envelope }) => envelope.idempotency_key)).size).toBe(1);
    expect(proxy.came[1]!.atMs - proxy.came[0]!.atMs).toBeGreaterThanOrEqual(990);
  });

  it('fails after the maximum number of attempts', async () => {
    const proxy = await flaky();
    proxy.plan('page', 'page', 'page');
    const refused = await run('given_up', { URL: proxy.url });
    expect(refused).toMatchObject({ code: 'UNAVAILABLE', status: 502 });
    expect(proxy.came).toHaveLength(2);
  });

  it('times out when no data arrives', async () => {
    const { proxy, URL } = await proxied();
    proxy.pause();
    expect(await run('hung', { URL })).toMatchObject({ code: 'UNAVAILABLE', status: 0 });
  });

  it('lose no event when a connection breaks', async () => {
    const { proxy, URL } = await proxied();
    const running = await start('followed', { URL });
    const cutting = setInterval(() => proxy.cut(), 700);
    onTestFinished(() => clearInterval(cutting));
    const { events } = (await running.ended) as { events: [number, string][] };
    expect(events.map(([n]) => n)).toEqual([1, 2, 3]);
  });

  it('ends the wait for a task with its name when it stays', async () => {
    const { proxy, URL } = await proxied();
    const running = await start('patient', { URL });
    await eventually(() => expect(running.said).toHaveLength(1));
    proxy.refuse(true);
    proxy.cut();
    expect(await running.ended).toMatchObject({ details: { task_id: running.said[0] } });
  });

  it('uses a higher number when another client of its sender has used a higher one', async () => {
    expect(await run('behind')).toEqual({ state: 'SUCCEEDED', result: { calls: 1 } });
  });

  it('gets through among many threads that overtake each other on one subject', async () => {
    const proxy = await flaky();
    proxy.plan(...Array.from({ length: 30 }, (_, at) => (at % 3 === 2 ? 'late' : 'on time')));
    const results = await run('crowd', { URL: proxy.url });
    expect(results).toEqual(Array.from({ length: 30 }, () => ({ calls: 1 })));
    expect(proxy.came.length).toBeGreaterThan(30);
  });
});

describe('a program outside (A2A-External)', () => {
  it('signs envelopes with its signer, and is refused without one', async () => {
    const SUB = `py-${randomUUID()}`;
    const TOKEN = await live.token(SUB, { external: true });
    const { kid, jwk } = await live.key(SUB);
    const pem = createPrivateKey({ key: { ...jwk }, format: 'jwk' });
    const folder = scratchFolder();
    write(folder, 'key.pem', String(pem.export({ type: 'pkcs8', format: 'pem' })));
    const env = { SUB, TOKEN, KID: kid, KEY_FILE: join(folder, 'key.pem') };
    expect(await run('signed', env)).toEqual(['SUCCEEDED', 'COMPENSATED', 'UNAUTHORIZED']);
  });
});
