import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Edge } from '../../../channels/edge/edge.ts';
import { TokenQuota } from '../../../channels/edge/quota.ts';
import { envelopeRoutes } from '../../../channels/http/envelopes.ts';
import { EventStreams } from '../../../channels/http/event-streams.ts';
import { evidenceRoutes } from '../../../channels/http/evidence.ts';
import type { Route } from '../../../channels/http/route.ts';
import { taskRoutes } from '../../../channels/http/tasks.ts';
import type { Gateway } from '../../../channels/index.ts';
import { ENVELOPE_BYTES_MAX, type Envelope } from '../../../protocols/envelope.ts';
import type { TaskEvent, TaskView, WireRefusal } from '../../../protocols/task.ts';
import { systemClock } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';
import { envelope, namedCallers, openRealTasks, type RealTasks } from '../edge/real-tasks.ts';
import { gatewayOn, TOKEN } from '../gateway/client.ts';

let real: RealTasks;
let edge: Edge;
let gateway: Gateway;
/** Callers of this file use names as tokens, which the gateway would count as guesses. */
const auth = { mode: 'token', token: TOKEN, rateLimit: { exemptLoopback: true } } as const;
const routesOf = (of: Edge): readonly Route[] => [
  ...envelopeRoutes(of),
  ...taskRoutes({ edge: of, identity: namedCallers, streams: new EventStreams() }),
  ...evidenceRoutes({
    index: real.system.index,
    offers: real.offers,
    identity: namedCallers,
    artifacts: { sign: () => Promise.reject(new Error('no files here')) },
  }),
];
beforeAll(async () => {
  real = await openRealTasks();
  edge = real.edge();
  gateway = await gatewayOn(real.system, { auth, routes: routesOf(edge) });
});
afterAll(async () => {
  edge.close();
  await gateway.close();
  await real.stop();
});

const alice = { authorization: 'Bearer alice' };
const json = { 'content-type': 'application/json' };
type Init = Omit<RequestInit, 'headers'> & { headers?: Record<string, string> };
const ask = (path: string, init: Init = {}, to: Gateway = gateway) =>
  fetch(new URL(path, to.url), { ...init, headers: { ...alice, ...init.headers } });
const post = (path: string, body?: unknown, headers: Record<string, string> = {}, to = gateway) =>
  ask(
    path,
    {
      method: 'POST',
      headers: { ...json, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    },
    to,
  );
const viewOf = async (response: Response) => (await response.json()) as TaskView;
const refusalOf = async (response: Response) => (await response.json()) as WireRefusal;

/** A task that runs until its gate opens. */
const held = async () => {
  const asked = envelope({ action: 'test.hold_work' });
  const gate = asked.idempotency_key;
  const whole = { ...asked, payload: { schema_version: '1.0', gate } };
  const response = await post('/v1/envelopes', whole, { prefer: 'respond-async' });
  const { task_id } = await viewOf(response);
  await eventually(() => expect(real.gate.begun).toContain(gate));
  return { gate, id: task_id, response };
};

describe('POST /v1/envelopes', () => {
  it('returns 200 with an ended task, and the rest of the quota', async () => {
    const response = await post('/v1/envelopes', envelope());
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ratelimit-limit')).toBe('1000000');
    expect(Number(response.headers.get('x-ratelimit-remaining'))).toBeLessThan(1_000_000);
    expect(await viewOf(response)).toMatchObject({ state: 'SUCCEEDED', result: { text: 'hello' } });
  });

  it('returns 202 with the location of a running task, at once on request', async () => {
    const { response, id, gate } = await held();
    expect(response.status).toBe(202);
    expect(response.headers.get('location')).toBe(`/v1/tasks/${id}`);
    expect(response.headers.get('retry-after')).toBe('1');
    real.gate.open(gate);
    await eventually(async () => {
      const now = await ask(`/v1/tasks/${id}`);
      expect(await viewOf(now)).toMatchObject({ state: 'SUCCEEDED', result: { held: gate } });
    });
  });

  it.each([
    ['INVALID_ARGUMENT', 400, { seq: 0 }],
    ['FORBIDDEN', 403, { tenant_id: 'other' }],
    ['NOT_FOUND', 404, { action: 'test.do_nothing' }],
    ['CONFLICT', 409, { seq: 1 }],
    ['EXPIRED', 410, { timestamp: '2026-01-01T00:00:00Z' }],
    ['UNAVAILABLE', 503, { data_locality: 'nowhere' }],
  ] satisfies [string, number, Partial<Envelope>][])(
    'refuses with %s as %i and its ids',
    async (code, status, change) => {
      await post('/v1/envelopes', envelope());
      const asked = envelope(change);
      const response = await post('/v1/envelopes', asked);
      expect(response.status).toBe(status);
      expect(await refusalOf(response)).toMatchObject({
        error: { code },
        request_id: asked.request_id,
        trace_id: asked.trace_id,
      });
    },
  );

  it('tells an unauthenticated client how to authenticate', async () => {
    const headers = { authorization: 'Bearer unknown' };
    const response = await post('/v1/envelopes', envelope(), headers);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain('Bearer');
  });

  it('tells a client over its quota when to retry', async () => {
    const limits = { principalPerMinute: 1, externalPerMinute: 1, tenantPerMinute: 10 };
    const tight = real.edge({ quota: new TokenQuota(limits, real.system, systemClock) });
    const narrow = await gatewayOn(real.system, { auth, routes: routesOf(tight) });
    await post('/v1/envelopes', envelope(), {}, narrow);
    const response = await post('/v1/envelopes', envelope(), {}, narrow);
    await narrow.close();
    expect(response.status).toBe(429);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(response.headers.get('x-ratelimit-limit')).toBe('1');
    expect(response.headers.get('x-ratelimit-remaining')).toBe('0');
    const { error } = await refusalOf(response);
    expect(error).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' });
    expect(error.retry_after_sec).toBeGreaterThan(0);
  });

  it('refuses a body that is too large, with or without a declared length', async () => {
    const text = 'x'.repeat(ENVELOPE_BYTES_MAX);
    const refused = await post(
      '/v1/envelopes',
      envelope({ payload: { schema_version: '1.0', text } }),
    );
    expect(refused.status).toBe(413);
    expect((await refusalOf(refused)).error.code).toBe('PAYLOAD_TOO_LARGE');
    const stream = new ReadableStream({
      pull(controller) {
        controller.enqueue(Buffer.alloc(65_536, 0x20));
      },
    });
    const init = { method: 'POST', headers: json, body: stream, duplex: 'half' } as Init;
    const untold = await ask('/v1/envelopes', init).catch(() => undefined);
    // A client that is still sending may see the connection end before it reads the answer.
    if (untold) expect(untold.status).toBe(413);
    expect((await post('/v1/envelopes', envelope())).status).toBe(200);
  });

  it('refuses requests that a form on a foreign page could send', async () => {
    const body = JSON.stringify(envelope());
    const headers = { 'content-type': 'text/plain' };
    const response = await ask('/v1/envelopes', { method: 'POST', headers, body });
    expect(response.status).toBe(400);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('continues the task of a disconnected client', async () => {
    const asked = envelope({ action: 'test.hold_work' });
    const gate = asked.idempotency_key;
    const left = new AbortController();
    const body = JSON.stringify({ ...asked, payload: { schema_version: '1.0', gate } });
    const init = { method: 'POST', headers: json, body, signal: left.signal };
    const answer = ask('/v1/envelopes', init).catch((error: Error) => error.name);
    await eventually(() => expect(real.gate.begun).toContain(gate));
    left.abort();
    expect(await answer).toBe('AbortError');
    real.gate.open(gate);
    const again = await ask('/v1/envelopes', { method: 'POST', headers: json, body });
    expect(await viewOf(again)).toMatchObject({ state: 'SUCCEEDED', result: { held: gate } });
  });

  it('keeps a connection alive for many requests', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<unknown>();
    for (let n = 0; n < 3; n++) {
      const sent = httpRequest(new URL('/v1/envelopes', gateway.url), {
        agent,
        method: 'POST',
        headers: { ...json, ...alice },
      });
      sent.end(JSON.stringify(envelope()));
      const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
      sockets.add(sent.socket);
      response.resume();
      await once(response, 'end');
    }
    agent.destroy();
    expect(sockets.size).toBe(1);
  });
});

describe('/v1/tasks/{id}', () => {
  it('cancels, with or without a reason, and refuses to cancel an ended task', async () => {
    const { id } = await held();
    const cancelled = await post(`/v1/tasks/${id}/cancel`, { reason: 'no need' });
    expect(cancelled.status).toBe(200);
    expect(await viewOf(cancelled)).toMatchObject({ state: 'CANCELLED' });
    expect((await ask(`/v1/tasks/${id}/cancel`, { method: 'POST' })).status).toBe(200);
    const { task_id } = await viewOf(await post('/v1/envelopes', envelope()));
    expect((await post(`/v1/tasks/${task_id}/cancel`)).status).toBe(409);
    expect((await post(`/v1/tasks/${task_id}/cancel`, { reasons: 1 })).status).toBe(400);
    expect((await post('/v1/tasks/none/cancel')).status).toBe(404);
  });

  it('accepts the input that a task waits for', async () => {
    const asked = envelope({ action: 'test.ask_word', payload: { schema_version: '1.0' } });
    const response = await post('/v1/envelopes', asked, { prefer: 'respond-async' });
    const { task_id } = await viewOf(response);
    await eventually(async () =>
      expect(await viewOf(await ask(`/v1/tasks/${task_id}`))).toHaveProperty('waiting'),
    );
    expect((await post(`/v1/tasks/${task_id}/input`, { input: 'Wort' })).status).toBeLessThan(300);
    await eventually(async () =>
      expect(await viewOf(await ask(`/v1/tasks/${task_id}`))).toMatchObject({
        result: { word: 'Wort' },
      }),
    );
    expect((await post(`/v1/tasks/${task_id}/input`, { input: 'x' })).status).toBe(409);
    expect((await post(`/v1/tasks/${task_id}/input`)).status).toBe(400);
  });

  it('is hidden from other callers', async () => {
    const { task_id } = await viewOf(await post('/v1/envelopes', envelope()));
    for (const path of [`/v1/tasks/${task_id}`, `/v1/tasks/${task_id}/events`]) {
      const other = await ask(path, { headers: { authorization: 'Bearer mallory' } });
      expect(other.status).toBe(404);
      const unauthenticated = await ask(path, { headers: { authorization: '' } });
      expect(unauthenticated.status).toBe(401);
    }
  });
});

describe('/v1/tasks/{id}/events', () => {
  type Sent = { id: number; event: string; data: TaskEvent };
  const sentIn = (text: string): Sent[] =>
    text
      .split('\n\n')
      .filter((block) => block.startsWith('id: '))
      .map((block) => {
        const [id = '', event = '', data = ''] = block.split('\n');
        return {
          id: Number(id.slice(4)),
          event: event.slice(7),
          data: JSON.parse(data.slice(6)) as TaskEvent,
        };
      });

  it('sends all events of a task as server-sent events, and ends with it', async () => {
    const { id, gate } = await held();
    const response = await ask(`/v1/tasks/${id}/events`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    real.gate.open(gate);
    const events = sentIn(await response.text());
    expect(events.map(({ id: n, event }) => [n, event])).toEqual([
      [1, 'test.hold_work.accepted'],
      [2, 'test.hold_work.running'],
      [3, 'test.hold_work.done'],
    ]);
    expect(events[2]!.data).toMatchObject({
      event_id: `${id}.3`,
      task: { state: 'SUCCEEDED', result: { held: gate } },
    });
  });

  it('resumes for a client that reconnects', async () => {
    const { task_id } = await viewOf(await post('/v1/envelopes', envelope()));
    const path = `/v1/tasks/${task_id}/events`;
    const rest = await ask(path, { headers: { 'last-event-id': '2' } });
    expect(sentIn(await rest.text()).map(({ id }) => id)).toEqual([3]);
    const none = await ask(path, { headers: { 'last-event-id': '3' } });
    expect(await none.text()).toBe('');
    const wrong = await ask(path, { headers: { 'last-event-id': 'two' } });
    expect(wrong.status).toBe(400);
    expect((await ask(path, { method: 'HEAD' })).status).toBe(200);
  });

  it('ends for a client that disconnects, and for no other', async () => {
    const { id, gate } = await held();
    const left = new AbortController();
    const first = await ask(`/v1/tasks/${id}/events`, { signal: left.signal });
    const second = await ask(`/v1/tasks/${id}/events`);
    left.abort();
    await expect(first.text()).rejects.toThrow('aborted');
    real.gate.open(gate);
    expect(sentIn(await second.text())).toHaveLength(3);
  });
});

describe('plain HTTP', () => {
  it('answers 404, 405 and OPTIONS with its own error format', async () => {
    const nowhere = await ask('/v1/nothing');
    expect(nowhere.status).toBe(404);
    expect((await refusalOf(nowhere)).error.code).toBe('NOT_FOUND');
    const wrong = await ask('/v1/envelopes', { method: 'PUT', headers: json, body: '{}' });
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('POST, OPTIONS');
    expect((await refusalOf(wrong)).error.code).toBe('INVALID_ARGUMENT');
    const options = await ask('/v1/tasks/x', { method: 'OPTIONS' });
    expect(options.status).toBe(204);
    expect(options.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    expect((await ask('/v1/tasks/%E0%A4%A')).status).toBe(404);
    expect((await ask('/v1/tasks/none', { method: 'HEAD' })).status).toBe(404);
  });

  it('refuses pages of other hosts if no secret is required', async () => {
    const open = await gatewayOn(real.system, { auth: { mode: 'none' }, routes: routesOf(edge) });
    const { port } = open;
    const statusFor = async (headers: string) => {
      const socket = connect(port, '127.0.0.1');
      const lines = ['GET /v1/tasks/x HTTP/1.1', headers, 'authorization: Bearer alice'];
      socket.end(`${lines.join('\r\n')}\r\nconnection: close\r\n\r\n`);
      let text = '';
      for await (const chunk of socket) text += String(chunk);
      return text.split(' ', 2)[1];
    };
    expect(await statusFor(`host: 127.0.0.1:${port}`)).toBe('404');
    expect(await statusFor(`host: localhost:${port}`)).toBe('404');
    expect(await statusFor(`host: evil.example:${port}`)).toBe('403');
    const foreign = `host: 127.0.0.1:${port}\r\norigin: https://evil.example`;
    expect(await statusFor(foreign)).toBe('403');
    await open.close();
  });

  it('reports an internal error of a route only in the log', async () => {
    const logged: object[] = [];
    const log = {
      debug() {},
      info() {},
      warn() {},
      error: (facts: object) => void logged.push(facts),
    };
    const broken: Route = {
      method: 'GET',
      path: '/v1/broken',
      handle() {
        throw new Error('secret cause');
      },
    };
    const failing = await gatewayOn(real.system, { auth, routes: [broken], log });
    const response = await ask('/v1/broken', {}, failing);
    await failing.close();
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('secret');
    expect(logged).toHaveLength(1);
  });

  it('refuses a table with a duplicate route', async () => {
    const twice = [...envelopeRoutes(edge), ...envelopeRoutes(edge)];
    await expect(gatewayOn(real.system, { routes: twice })).rejects.toMatchObject({
      code: 'CONFLICT',
    });
  });

  it('has no evidence of a job that was not verified', async () => {
    expect((await ask('/evidence/job-1')).status).toBe(404);
    expect((await ask('/evidence/job-1', { headers: { authorization: '' } })).status).toBe(401);
  });
});
