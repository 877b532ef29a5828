/**
 * External agents, called over real HTTP: one cell offers an action that another one performs. Both
 * have a store, actors, the gateway's HTTP server and its routes.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shippedActors } from '../../../actors/index.ts';
import { registryActions } from '../../../actors/registry/actions.ts';
import { ActionCatalog } from '../../../actors/task/catalog.ts';
import type { TaskServices } from '../../../actors/task/services.ts';
import { createEdge } from '../../../channels/edge/create-edge.ts';
import type { Edge } from '../../../channels/edge/edge.ts';
import { TokenQuota } from '../../../channels/edge/quota.ts';
import { envelopeRoutes } from '../../../channels/http/envelopes.ts';
import { routeListener } from '../../../channels/http/listener.ts';
import { EventStreams } from '../../../channels/http/event-streams.ts';
import { taskRoutes } from '../../../channels/http/tasks.ts';
import {
  agentRequest,
  type AgentRequestOptions,
} from '../../../actors/task/remote/agent-request.ts';
import { createOffers } from '../../../actors/task/tenant-offers.ts';
import { createAskAgent } from '../../../actors/task/remote/ask-agent.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { TASKS_INDEX, type TaskRow } from '../../../protocols/task.ts';
import { openFolderArtifacts } from '../../../runtime/artifacts/folder.ts';
import { createSystem, openEmbedded, type System, systemClock } from '../../../runtime/index.ts';
import {
  bytesOf,
  envelope,
  errorOf,
  namedCallers,
  openRealTasks,
  type RealTasks,
  taskOf,
} from '../../channels/edge/real-tasks.ts';
import { eventually } from '../../runtime/eventually.ts';
import { reservePort } from '../../servers/reserve-port.ts';

let outside: RealTasks;
let server: Server;
let url: string;
let path: string;
let system: System;
let edge: Edge;

const askWith = (options: AgentRequestOptions) =>
  createAskAgent({
    request: agentRequest(options),
    token: () => Promise.resolve({ authorization: 'Bearer alice' }),
  });
const ask = askWith({ allowLoopback: true });
/** An agent with the same answer to every request. */
const askWithAnswer = (status: number, body: unknown) =>
  createAskAgent({ request: () => Promise.resolve({ status, body, retryAfterSec: undefined }) });
const rowAt = (agentUrl: string) => ({ agent_id: 'tester', url: agentUrl });

beforeAll(async () => {
  outside = await openRealTasks();
  const there = outside.edge();
  const listener = routeListener({
    routes: [
      ...envelopeRoutes(there),
      ...taskRoutes({ edge: there, identity: namedCallers, streams: new EventStreams() }),
    ],
    log: { error: () => {} },
  });
  server = createServer((request, response) => void listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  path = mkdtempSync(join(tmpdir(), 'troupe-remote-'));
  const catalog = new ActionCatalog(registryActions());
  const services: TaskServices = {
    actions: catalog,
    artifacts: await openFolderArtifacts({
      path: join(path, 'artifacts'),
      publicUrl: () => url,
      mimeTypes: ['application/json'],
    }),
    open: (sealed) => Promise.resolve(sealed),
    seal: () => Promise.reject(new Error('nothing here is sealed')),
    askAgent: ask,
    count: () => {},
  };
  const ports = await openEmbedded({ path: join(path, 'store'), durability: 'process' });
  system = await createSystem({ ...ports, actors: shippedActors(), services });
  const many = { principalPerMinute: 1e6, externalPerMinute: 1e6, tenantPerMinute: 1e6 };
  edge = createEdge({
    system,
    offers: createOffers({ catalog, system }),
    identity: namedCallers,
    quota: new TokenQuota(many, system, systemClock),
    clock: systemClock,
  });
});
afterAll(async () => {
  edge.close();
  await system.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await outside.stop();
  rmSync(path, { recursive: true, force: true });
});

const submit = (asked: Envelope) =>
  edge.submit({ transport: 'http', bytes: bytesOf(asked), authorization: 'Bearer alice' });
const signal = () => new AbortController().signal;
const hold = () => {
  const asked = envelope({ action: 'test.hold_work' });
  const gate = asked.idempotency_key;
  return { gate, asked: { ...asked, payload: { schema_version: '1.0', gate } } };
};
const statesThere = () =>
  outside.system.index
    .list<TaskRow>(TASKS_INDEX, 'acme')
    .map(({ value }) => [value.view.action, value.view.state]);

describe('an agent outside', () => {
  it('registers by an envelope, and from then on its actions are those of the cell', async () => {
    const before = await submit(envelope({ payload: { schema_version: '1.0', text: 'a' } }));
    expect(errorOf(before).code).toBe('NOT_FOUND');
    const registered = await submit(
      envelope({
        action: 'registry.register_agent',
        payload: {
          schema_version: '1.0',
          agent_id: 'tester',
          version: '1.0.0',
          url,
          actions: outside.offers.all('acme'),
        },
      }),
    );
    expect(taskOf(registered)).toMatchObject({
      state: 'SUCCEEDED',
      result: { agent_id: 'tester', status: 'live' },
    });
    const beat = await submit(
      envelope({
        action: 'registry.send_heartbeat',
        payload: { schema_version: '1.0', agent_id: 'tester' },
      }),
    );
    expect(taskOf(beat).state).toBe('SUCCEEDED');
    const view = await eventually(async () =>
      taskOf(await submit(envelope({ payload: { schema_version: '1.0', text: 'from there' } }))),
    );
    expect(view).toMatchObject({ state: 'SUCCEEDED', result: { text: 'from there' } });
    const refused = await submit(envelope({ payload: { schema_version: '1.0', text: 7 } }));
    expect(errorOf(refused)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { errors: [{ path: '/payload/text' }] },
    });
  });

  it('that another principal registered keeps its owner', async () => {
    const asked = envelope({
      action: 'registry.remove_agent',
      principal: { sub: 'clerk', roles: ['clerk'] },
      payload: { schema_version: '1.0', agent_id: 'tester' },
    });
    const answer = await edge.submit({
      transport: 'http',
      bytes: bytesOf(asked),
      authorization: 'Bearer clerk',
    });
    expect(errorOf(answer).code).toBe('FORBIDDEN');
  });
});

describe('asking an agent outside', () => {
  it('does the work once, however often it is requested', async () => {
    const { gate, asked } = hold();
    const first = ask(rowAt(url), asked, signal());
    await eventually(() => expect(outside.gate.begun).toContain(gate));
    const second = ask(rowAt(`${url}/`), asked, signal());
    outside.gate.open(gate);
    expect(await Promise.all([first, second])).toEqual([
      { result: { held: gate } },
      { result: { held: gate } },
    ]);
    expect(outside.gate.begun.filter((key) => key === gate)).toHaveLength(1);
  });

  it('uses the next number when another caller has used its number', async () => {
    const context_id = 'one subject';
    const asked = () => envelope({ context_id, action_version: '1.0.0' });
    const far = { ...asked(), seq: Date.now() * 1_000 + 60_000_000_000 };
    await ask(rowAt(url), far, signal());
    const used = { ...far, idempotency_key: 'another', payload: far.payload };
    const posted = await fetch(`${url}/v1/envelopes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer alice' },
      body: JSON.stringify(used),
    });
    expect(posted.status).toBe(200);
    expect(await ask(rowAt(url), asked(), signal())).toMatchObject({ result: { text: 'hello' } });
  });

  it('cancels its task there when the work is no longer wanted', async () => {
    const { gate, asked } = hold();
    const abort = new AbortController();
    const asking = ask(rowAt(url), asked, abort.signal);
    await eventually(() => expect(outside.gate.begun).toContain(gate));
    abort.abort(new TroupeError('CANCELLED', 'the outcome is no longer wanted'));
    await expect(asking).rejects.toThrow(/did not answer|aborted/);
    await eventually(() => expect(statesThere()).toContainEqual(['test.hold_work', 'CANCELLED']));
  });

  it('leaves its task there alone when this worker stops', async () => {
    const { gate, asked } = hold();
    const abort = new AbortController();
    const asking = ask(rowAt(url), asked, abort.signal);
    await eventually(() => expect(outside.gate.begun).toContain(gate));
    const details = { reason: 'WORKER_STOPS' };
    abort.abort(new TroupeError('CANCELLED', 'the worker stops', { details }));
    await expect(asking).rejects.toThrow(/did not answer|aborted/);
    const again = ask(rowAt(url), asked, signal());
    outside.gate.open(gate);
    expect(await again).toEqual({ result: { held: gate } });
  });

  it('reports how the remote task ended, and refusals', async () => {
    const failing = envelope({ action: 'test.fail_always', payload: { schema_version: '1.0' } });
    await expect(ask(rowAt(url), failing, signal())).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/tester ended the task .* as FAILED: never good enough/),
    });
    const unknown = envelope({ action: 'test.know_nothing' });
    await expect(ask(rowAt(url), unknown, signal())).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('treats a cancel of work that never began or failed as done, but not of completed work', async () => {
    const cancelOf = ({ action, idempotency_key }: Envelope) =>
      envelope({
        action: `${action}.cancel`,
        payload: { schema_version: '1.0', idempotency_key },
      });
    const never = envelope();
    expect(await ask(rowAt(url), cancelOf(never), signal())).toEqual({ result: null });
    const failing = envelope({ action: 'test.fail_always', payload: { schema_version: '1.0' } });
    await expect(ask(rowAt(url), failing, signal())).rejects.toThrow(/never good enough/);
    expect(await ask(rowAt(url), cancelOf(failing), signal())).toEqual({ result: null });
    const done = envelope();
    await ask(rowAt(url), done, signal());
    await expect(ask(rowAt(url), cancelOf(done), signal())).rejects.toMatchObject({
      code: 'CONFLICT',
    });
  });

  it('does not treat a cancel as done when the outcome of the work is unknown', async () => {
    const cancelled = envelope({
      action: 'test.echo_text.cancel',
      payload: { schema_version: '1.0', idempotency_key: 'lost' },
    });
    const agent = askWithAnswer(409, {
      error: { code: 'CONFLICT', message: 'a person decides', details: { state: 'UNKNOWN' } },
    });
    await expect(agent(rowAt(url), cancelled, signal())).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    const left = { state: 'FAILED', compensated: false };
    const given = askWithAnswer(409, { error: { code: 'CONFLICT', message: '', details: left } });
    await expect(given(rowAt(url), cancelled, signal())).rejects.toMatchObject({
      code: 'CONFLICT',
    });
  });

  it('does not treat a cancel as done when another server knows no such task', async () => {
    const cancelled = envelope({
      action: 'test.echo_text.cancel',
      payload: { schema_version: '1.0', idempotency_key: 'moved' },
    });
    const stranger = askWithAnswer(404, '<h1>Not Found</h1>');
    await expect(stranger(rowAt(url), cancelled, signal())).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  });

  it('is UNAVAILABLE and retried when no server responds', async () => {
    const silent = `http://127.0.0.1:${await reservePort()}`;
    await expect(ask(rowAt(silent), envelope(), signal())).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  });

  it('goes to no address that is not public, but for loopback where that is allowed', async () => {
    const { port } = server.address() as AddressInfo;
    const strict = askWith({});
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '10.0.0.1', '169.254.1.1'])
      await expect(strict(rowAt(`http://${host}:${port}`), envelope(), signal())).rejects.toThrow(
        /is not on the public internet/,
      );
    expect(await ask(rowAt(`http://localhost:${port}`), envelope(), signal())).toMatchObject({
      result: { text: 'hello' },
    });
    await expect(ask(rowAt(`http://10.0.0.1:${port}`), envelope(), signal())).rejects.toMatchObject(
      { code: 'FORBIDDEN' },
    );
  });
});
