/** Mode `none` admits direct connections from this machine and nothing else. */
import { connect } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Gateway, GatewayOptions } from '../../../../channels/index.ts';
import {
  AddressList,
  whyNotDirect,
  remoteOf,
} from '../../../../channels/gateway/auth/client-address.ts';
import type { Route } from '../../../../channels/http/route.ts';
import { connectParams, gatewayOn, TOKEN } from '../client.ts';
import { FakeSessionSystem } from '../fake-session-system.ts';
import { closeAll, openGateway, openChallenged } from '../opened.ts';

const webRoot = mkdtempSync(join(tmpdir(), 'troupe-page-'));
beforeAll(() => writeFileSync(join(webRoot, 'index.html'), '<!doctype html><title>page</title>'));
afterEach(closeAll);
afterAll(() => rmSync(webRoot, { recursive: true }));

const routes: readonly Route[] = [
  { method: 'GET', path: '/v1/things', handle: ({ response }) => void response.end('things') },
];
const open = () => openGateway(undefined, { auth: { mode: 'none' }, webRoot, routes });

/** Headers of proxies, tunnels and content delivery networks. */
const FORWARDED: readonly Record<string, string>[] = [
  { 'x-forwarded-for': '203.0.113.9' },
  { 'X-Forwarded-Host': 'box.example' },
  { 'x-forwarded-proto': 'https' },
  { x_forwarded_for: '203.0.113.9' },
  { forwarded: 'for=203.0.113.9' },
  { 'x-real-ip': '203.0.113.9' },
  { 'x-client-ip': '203.0.113.9' },
  { 'true-client-ip': '203.0.113.9' },
  { via: '1.1 proxy' },
  { 'tailscale-user-login': 'ann@example.com' },
  { 'tailscale-headers-info': 'x' },
  { 'cf-connecting-ip': '203.0.113.9' },
  { 'cf-ray': '1' },
  { 'cdn-loop': 'cloudflare' },
  { 'fly-client-ip': '203.0.113.9' },
  { 'x-original-forwarded-for': '203.0.113.9' },
  { 'x-envoy-external-address': '203.0.113.9' },
  { 'proxy-connection': 'keep-alive' },
  { 'x-http-forwarded-for': '203.0.113.9' },
  { http_x_forwarded_for: '203.0.113.9' },
  { 'x-nginx-proxy': 'true' },
  { 'x-proxyuser-ip': '203.0.113.9' },
  { 'x-varnish': '7' },
  { 'akamai-origin-hop': '1' },
  { 'surrogate-capability': 'key=ESI/1.0' },
  // An empty value comes from a proxy that hides the address.
  { 'x-forwarded-for': '' },
];

/** The status of a raw request; `fetch` would add headers of its own. */
const statusOf = async (
  { port }: Gateway,
  path: string,
  headers: Record<string, string> = {},
  version = '1.1',
): Promise<string> => {
  const socket = connect(port, '127.0.0.1');
  const lines = Object.entries({ host: `127.0.0.1:${port}`, connection: 'close', ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}`).join('\r\n');
  socket.end(`GET ${path} HTTP/${version}\r\n${head}\r\n\r\n`);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text.split(' ', 2)[1] ?? '';
};

const connectCode = async (gateway: Gateway, headers: Record<string, string> = {}) => {
  const client = await openChallenged(gateway, headers);
  const { ok, error } = await client.call('connect', connectParams({ auth: undefined }));
  return ok ? 'in' : error?.details?.['code'];
};

describe('mode none', () => {
  test('admits a program and a page of this machine, over WebSocket and HTTP', async () => {
    const gateway = await open();
    expect(await connectCode(gateway)).toBe('in');
    expect(await connectCode(gateway, { origin: `http://localhost:${gateway.port}` })).toBe('in');
    for (const path of ['/', '/v1/things']) expect(await statusOf(gateway, path)).toBe('200');
  });

  test.each(FORWARDED)('refuses a connection that was forwarded: %o', async (headers) => {
    const gateway = await open();
    expect(await connectCode(gateway, headers)).toBe('AUTH_UNAUTHORIZED');
    for (const path of ['/', '/index.html', '/v1/things', '/v1/nothing']) {
      expect([path, await statusOf(gateway, path, headers)]).toEqual([path, '403']);
    }
  });

  test('refuses a foreign host name that resolves to this machine', async () => {
    const gateway = await open();
    for (const host of [`evil.example:${gateway.port}`, 'localhost.evil.example', '10.0.0.7']) {
      expect(await connectCode(gateway, { host })).toBe('AUTH_UNAUTHORIZED');
      for (const path of ['/', '/v1/things']) {
        expect(await statusOf(gateway, path, { host })).toBe('403');
      }
    }
    const origin = 'https://evil.example';
    expect(await connectCode(gateway, { origin })).toBe('CONTROL_UI_ORIGIN_NOT_ALLOWED');
    expect(await statusOf(gateway, '/v1/things', { origin })).toBe('403');
  });

  test('refuses a peer on another machine, whatever it sends', () => {
    const request = { socket: { remoteAddress: '10.0.0.7' }, headers: { host: 'localhost' } };
    const remote = remoteOf(request as Parameters<typeof remoteOf>[0], new AddressList());
    expect(whyNotDirect(remote)).toMatch(/another machine/);
  });

  test('refuses HTTP/1.0, with which nginx forwards without a header', async () => {
    const gateway = await open();
    for (const path of ['/', '/v1/things']) {
      expect(await statusOf(gateway, path, {}, '1.0')).toBe('403');
    }
    expect(await statusOf(gateway, '/healthz', {}, '1.0')).toBe('200');
  });

  test('answers health checks also for forwarded requests', async () => {
    const gateway = await open();
    for (const path of ['/healthz', '/readyz']) {
      expect(await statusOf(gateway, path, FORWARDED[0])).toBe('200');
    }
  });

  test('names the header and the configuration in its refusal', async () => {
    const gateway = await open();
    const client = await openChallenged(gateway, { 'cf-ray': '1' });
    const { error } = await client.call('connect', connectParams({ auth: undefined }));
    expect(error?.message).toMatch(/cf-ray.*gateway\.auth\.mode/);
  });

  test('does not start with a configured proxy or tailnet', async () => {
    const start = (auth: Partial<GatewayOptions['auth']>) =>
      gatewayOn(new FakeSessionSystem(), { auth: { mode: 'none', ...auth } });
    await expect(start({ trustedProxy: { proxies: ['127.0.0.1'] } })).rejects.toThrow(
      'gateway.auth.trustedProxy',
    );
    await expect(start({ allowTailscale: true })).rejects.toThrow('gateway.auth.allowTailscale');
  });
});

test('other modes accept forwarded connections with the secret', async () => {
  const gateway = await openGateway();
  const client = await openChallenged(gateway, FORWARDED[0]);
  const { ok } = await client.call('connect', connectParams({ auth: { token: TOKEN } }));
  expect(ok).toBe(true);
});
