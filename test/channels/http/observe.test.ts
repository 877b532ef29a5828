import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveMetrics } from '../../../channels/http/metrics.ts';
import type { SloReport } from '../../../operations/slo-report.ts';
import { createMetrics, systemClock } from '../../../runtime/index.ts';
import { bytesOf, envelope } from '../edge/real-tasks.ts';
import { type ObservedServer, openObservedServer, SECRET } from './observed-server.ts';

let server: ObservedServer;
beforeAll(async () => {
  server = await openObservedServer();
});
afterAll(() => server.stop());

const get = (path: string, secret = SECRET) =>
  fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${secret}` } });
const send = (value: unknown, token = 'alice') =>
  fetch(`${server.url}/v1/envelopes`, {
    method: 'POST',
    body: new Uint8Array(bytesOf(value)),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  });

describe('GET /metrics', () => {
  it('reports the outcomes of envelopes to an operator', async () => {
    await send(envelope());
    await send(envelope({ action: 'test.find_nothing' }));
    await send(envelope(), 'unknown');
    const response = await get('/metrics');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const lines = (await response.text()).split('\n');
    const counted = lines.filter((line) => line.startsWith('a2a_requests_total{'));
    expect(counted).toEqual([
      'a2a_requests_total{action="test.echo_text",tenant="acme",principal="alice",status="SUCCEEDED",error_code=""} 1',
      'a2a_requests_total{action="other",tenant="acme",principal="alice",status="REFUSED",error_code="NOT_FOUND"} 1',
      'a2a_requests_total{action="other",tenant="other",principal="other",status="REFUSED",error_code="UNAUTHORIZED"} 1',
    ]);
    expect(lines.find((line) => line.startsWith('troupe_ack_ms_count'))).toBe(
      'troupe_ack_ms_count 1',
    );
  });

  it('contains no names that a caller made up', async () => {
    const old = { timestamp: new Date(Date.now() - 3_600_000).toISOString(), ttl_sec: 1 };
    const payload = { schema_version: '1.0', task_id: 'none' };
    await send(envelope({ action: 'made.up_name.cancel', payload, ...old }));
    await send(envelope({ action: 'made.up_name.cancel', payload }));
    await send(envelope({ action: 'made.up_name', ...old }));
    expect(await (await get('/metrics')).text()).not.toContain('made.up');
  });

  it('requires an operator', async () => {
    expect((await get('/metrics', 'another')).status).toBe(403);
    expect((await fetch(`${server.url}/v1/slo`)).status).toBe(401);
  });
});

describe('GET /v1/slo', () => {
  it('measures the tasks of a tenant', async () => {
    await send(envelope());
    const report = (await (await get('/v1/slo?hours=1')).json()) as SloReport;
    expect(report).toMatchObject({ tenant: 'acme', hours: 1, estimated: false, kept: true });
    expect(report.tasks).toBeGreaterThan(0);
    const [ack, done, dead] = report.objectives;
    expect(ack).toMatchObject({ name: 'ack_p95', kept: true });
    expect(done!.measured).toBeLessThan(0);
    expect(dead).toMatchObject({ measured: 0, kept: true });
    const other = (await (await get('/v1/slo?tenant=other')).json()) as SloReport;
    expect(other).toMatchObject({ tenant: 'other', tasks: 0 });
  });

  it.each(['0', '25', '1.5', 'all'])('refuses a period of %s hours', async (hours) => {
    const response = await get(`/v1/slo?hours=${hours}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'INVALID_ARGUMENT' } });
  });
});

describe('the port of a worker', () => {
  const metrics = createMetrics({ process: false });
  const clock = systemClock;

  it('serves metrics and nothing else', async () => {
    const served = await serveMetrics({ metrics, clock, host: '127.0.0.1', port: 0 });
    const at = (path: string, method = 'GET') =>
      fetch(`http://127.0.0.1:${served.port}${path}`, { method });
    expect(await (await at('/metrics')).text()).toContain('a2a_requests_total');
    expect((await at('/metrics', 'HEAD')).status).toBe(200);
    const accept = 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5';
    const open = await fetch(`http://127.0.0.1:${served.port}/metrics`, { headers: { accept } });
    expect(open.headers.get('content-type')).toMatch(/^application\/openmetrics-text/);
    expect(await open.text()).toMatch(/# EOF\n$/);
    const posted = await at('/metrics', 'POST');
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await at('/v1/slo')).status).toBe(404);
    await served.close();
  });

  it('requires the token if one is configured', async () => {
    const served = await serveMetrics({
      metrics,
      clock,
      host: '127.0.0.1',
      port: 0,
      token: SECRET,
    });
    const with_ = (authorization: string) =>
      fetch(`http://127.0.0.1:${served.port}/metrics`, { headers: { authorization } });
    expect((await with_('Bearer wrong')).status).toBe(401);
    expect((await with_(`Bearer ${SECRET}`)).status).toBe(200);
    await served.close();
  });

  it('answers probes of every caller, from another machine and without a token', async () => {
    let isReady = false;
    const served = await serveMetrics({
      metrics,
      clock,
      host: '127.0.0.1',
      port: 0,
      token: SECRET,
      isReady: () => isReady,
    });
    const statusOf = async (path: string) =>
      (await fetch(`http://127.0.0.1:${served.port}${path}`)).status;
    expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([200, 503]);
    isReady = true;
    expect([await statusOf('/readyz'), await statusOf('/metrics')]).toEqual([200, 401]);
    await served.close();
  });

  it('accepts direct connections of this machine only, without a token', async () => {
    const served = await serveMetrics({ metrics, clock, host: '127.0.0.1', port: 0 });
    const statusWith = async (headers: Record<string, string>) => {
      const asked = request({ port: served.port, path: '/metrics', headers, agent: false }).end();
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      answer.resume();
      return answer.statusCode;
    };
    expect(await statusWith({})).toBe(200);
    expect(await statusWith({ host: 'evil.example' })).toBe(403);
    expect(await statusWith({ 'x-forwarded-for': '203.0.113.9' })).toBe(403);
    await served.close();
  });

  it('counts wrong tokens, and admits the right one in the meantime', async () => {
    const served = await serveMetrics({
      metrics,
      clock,
      host: '127.0.0.1',
      port: 0,
      token: 'short',
    });
    const statusOf = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(`http://127.0.0.1:${served.port}/metrics`, { headers });
      await answer.body?.cancel();
      return answer.status;
    };
    const guesses = Array.from({ length: 12 }, (_, at) => statusOf(`guess-${at}`));
    const statuses = await Promise.all(guesses);
    expect(statuses.toSorted()).toEqual([...Array<number>(10).fill(401), 429, 429]);
    expect(await statusOf('short')).toBe(200);
    await served.close();
  });

  it('is never open to other machines without a token', async () => {
    const open = serveMetrics({ metrics, clock, host: '0.0.0.0', port: 0 });
    await expect(open).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('reports when the port is in use', async () => {
    const first = await serveMetrics({ metrics, clock, host: '127.0.0.1', port: 0 });
    const second = serveMetrics({ metrics, clock, host: '127.0.0.1', port: first.port });
    await expect(second).rejects.toMatchObject({ code: 'CONFLICT' });
    await first.close();
  });
});
