import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../../channels/http/route.ts';
import type { Gateway } from '../../../channels/index.ts';
import { gatewayOn } from './client.ts';
import { FakeSessionSystem } from './fake-session-system.ts';

const folder = mkdtempSync(join(tmpdir(), 'troupe-page-'));
const root = join(folder, 'page');
const system = new FakeSessionSystem();
let gateway: Gateway;

beforeAll(async () => {
  mkdirSync(join(root, 'assets'), { recursive: true });
  writeFileSync(join(root, 'index.html'), '<!doctype html><title>page</title>');
  writeFileSync(join(root, 'assets', 'main.js'), 'export {};');
  writeFileSync(join(folder, 'secret.txt'), 'secret');
  gateway = await gatewayOn(system, { webRoot: root });
});
afterAll(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true });
});

/** Sends the path unchanged; fetch() would normalize it. */
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Promise<{ status: number; headers: Record<string, unknown>; body: string }>(
    (resolve, reject) => {
      const asked = request(
        { host: '127.0.0.1', port: gateway.port, path, headers, method },
        (response) => {
          let body = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
          );
        },
      );
      asked.on('error', reject);
      asked.end();
    },
  );

describe('a gateway that stops', () => {
  const stream: { end?: () => void } = {};
  const routes: readonly Route[] = [
    {
      method: 'GET',
      path: '/stream',
      handle: ({ response }) => {
        response.writeHead(200).write('begin ');
        stream.end = () => response.end('end');
      },
    },
    {
      method: 'POST',
      path: '/body',
      handle: async (incoming) => void incoming.response.end(await incoming.body(100)),
    },
  ];

  test('finishes the answers in progress, and waits for no idle connection', async () => {
    const stopping = await gatewayOn(system, { routes });
    const answer = await fetch(`http://127.0.0.1:${stopping.port}/stream`);
    const closed = stopping.close();
    stream.end?.();
    expect(await answer.text()).toBe('begin end');
    await closed;
  });

  test('disconnects a client that is still sending its body', async () => {
    const stopping = await gatewayOn(system, { routes });
    const socket = connect(stopping.port, '127.0.0.1').on('error', () => {});
    const left = new Promise((resolve) => socket.once('close', resolve).resume());
    socket.write(
      'POST /body HTTP/1.1\r\nhost: h\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n',
    );
    await new Promise((resolve) => socket.once('data', resolve));
    await stopping.close();
    await left;
    expect(socket.destroyed).toBe(true);
  });
});

describe('health', () => {
  test('/healthz succeeds while the process is alive', async () => {
    const { status, body } = await get('/healthz');
    expect({ status, body: JSON.parse(body) }).toEqual({
      status: 200,
      body: { ok: true, status: 'live' },
    });
  });

  test('/readyz returns 200 only when every shard is owned, otherwise the reason', async () => {
    expect((await get('/readyz')).status).toBe(200);
    const owned = system.shards;
    system.shards = [{ ...owned[0]!, shard: 3, state: 'quarantined', why: 'record 7 is torn' }];
    const waiting = await get('/readyz');
    system.shards = [];
    const none = await get('/readyz');
    system.shards = owned;
    expect(waiting.status).toBe(503);
    expect(JSON.parse(waiting.body)).toEqual({
      ready: false,
      why: [{ shard: 3, state: 'quarantined', why: 'record 7 is torn' }],
    });
    expect(none.status).toBe(503);
    expect((await get('/healthz')).status).toBe(200);
  });
});

describe('the page', () => {
  test('is served with a policy that blocks foreign content', async () => {
    const { status, headers, body } = await get('/');
    expect(status).toBe(200);
    expect(body).toContain('<title>page</title>');
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
    });
  });

  test('is not sent again to a client that has cached it', async () => {
    const { headers } = await get('/assets/main.js?v=1');
    expect(headers['content-type']).toBe('text/javascript; charset=utf-8');
    const again = await get('/assets/main.js', { 'if-none-match': String(headers['etag']) });
    expect(again).toMatchObject({ status: 304, body: '' });
    const changed = await get('/assets/main.js', { 'if-none-match': '"other"' });
    expect(changed.status).toBe(200);
  });

  test.each([
    '/../secret.txt',
    '/assets/../../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '//etc/passwd',
    '/assets/',
    '/__proto__',
    '/\\..\\secret.txt',
  ])('serves no file outside its folder: %s', async (path) => {
    const { status, body } = await get(path);
    expect(status).toBe(404);
    expect(body).not.toContain('secret');
  });

  test('is read only', async () => {
    expect(await get('/', {}, 'POST')).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
    });
    const head = await get('/', {}, 'HEAD');
    expect(head).toMatchObject({ status: 200, body: '' });
    expect(head.headers['content-length']).toBe('34');
  });

  test('names the build command when it was not built', async () => {
    const bare = await gatewayOn(system);
    const response = await fetch(bare.url);
    await bare.close();
    expect(response.status).toBe(404);
    expect(await response.text()).toContain('npm run build');
    await expect(gatewayOn(system, { webRoot: join(folder, 'missing') })).rejects.toThrow(
      'npm run build',
    );
  });
});

test('each accepted connection is reported', async () => {
  let connections = 0;
  const reporting = await gatewayOn(system, { onConnection: () => connections++ });
  for (const count of [1, 2]) {
    const answer = await fetch(`http://127.0.0.1:${reporting.port}/healthz`, {
      headers: { connection: 'close' },
    });
    expect([answer.status, connections]).toEqual([200, count]);
  }
  await reporting.close();
});
