/**
 * A tenant's program at the NATS entry point of a real cell, with the permissions of
 * deploy/nats.conf: it sends requests and receives answers and its events. Through the gateway,
 * which may write everywhere, it reaches no more than directly.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  connect,
  headers,
  type Msg,
  type NatsConnection,
  type RequestOptions,
} from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueToken } from '../../channels/edge/identity/local-issuer.ts';
import type { Envelope } from '../../protocols/envelope.ts';
import type { TaskEvent, TaskView, WireRefusal } from '../../protocols/task.ts';
import { kill, type Program, startGateway, startWorker } from '../kill/program.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { shippedConfig } from './shipped-config.ts';
import { newEnvelope } from '../protocols/new-envelope.ts';

const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const IN = 'a2a.notifier.main.in.acme';
const TROUPE = { user: 'troupe', pass: 'of-the-cell' };
const ACME = { user: 'acme', pass: 'of-a-tenant', inboxPrefix: '_INBOX.acme' };

const envelope = (more: Partial<Envelope> = {}): Envelope =>
  newEnvelope(
    'notifier.send_notification',
    { to: 'ann', text: 'hello', subject: randomUUID() },
    { tenant_id: 'acme', principal: { sub: 'clerk', roles: ['agent'] }, ...more },
  );

describe.skipIf(!server)(`a tenant’s program over NATS${leftOut}`, () => {
  let nats: NatsServer;
  let acme: NatsConnection;
  let troupe: NatsConnection;
  let options: RequestOptions & { headers: ReturnType<typeof headers> };
  const running: Program[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'troupe-tenant-'));
  const events: { subject: string; event: TaskEvent }[] = [];
  const namesOf = (requestId: string): string[] =>
    events
      .filter(({ event }) => event.task?.request_id === requestId)
      .map(({ event }) => event.event);
  const ask = (body: Envelope, subject = IN): Promise<Msg> =>
    acme.request(subject, JSON.stringify(body), options);

  beforeAll(async () => {
    process.env['TROUPE_NATS_PASSWORD'] = TROUPE.pass;
    process.env['ACME_NATS_PASSWORD'] = ACME.pass;
    const store = join(folder, 'nats');
    nats = await startNats({ path: server!.path, config: shippedConfig(['acme'], { store }) });
    const home = join(folder, 'home');
    mkdirSync(home);
    const settings = {
      nats: { user: TROUPE.user, password: TROUPE.pass },
      cluster: { shards: 4 },
    };
    write(home, 'troupe.json5', JSON.stringify(settings));
    running.push(await startWorker(home, 'one', nats.url));
    running.push(await startGateway(home, await reservePort(), nats.url));
    const who = { sub: 'clerk', tenant: 'acme', roles: ['agent'], resource: 'urn:troupe:a2a' };
    const token = await issueToken(home, { ...who, ttlSec: 600, external: false }, Date.now());
    const fields = headers();
    fields.set('authorization', `Bearer ${token}`);
    options = { headers: fields, timeout: 20_000 };
    [acme, troupe] = await Promise.all([
      connect({ servers: nats.url, ...ACME }),
      connect({ servers: nats.url, ...TROUPE }),
    ]);
    acme.subscribe('a2a.*.main.out.acme', {
      callback: (_, message) =>
        void events.push({ subject: message.subject, event: message.json<TaskEvent>() }),
    });
    await acme.flush();
  }, 60_000);
  afterAll(async () => {
    await Promise.all([acme?.close(), troupe?.close(), ...running.map(kill)]);
    await nats?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('sends requests, receives answers in its inbox, and receives the events of its task', async () => {
    const asked = envelope();
    const answer = await ask(asked);
    expect(answer.headers?.get('status')).toBe('200');
    expect(answer.json<TaskView>()).toMatchObject({ state: 'SUCCEEDED', tenant_id: 'acme' });
    await eventually(() =>
      expect(namesOf(asked.request_id)).toEqual(
        ['accepted', 'running', 'done'].map((suffix) => `${asked.action}.${suffix}`),
      ),
    );
  });

  it('sends an envelope without waiting, and receives its outcome', async () => {
    const asked = envelope();
    acme.publish(IN, JSON.stringify(asked), { headers: options.headers });
    await eventually(() => expect(namesOf(asked.request_id)).toHaveLength(3));
    const refused = envelope({ action: 'notifier.no_such_action' });
    acme.publish(IN, JSON.stringify(refused), { headers: options.headers });
    await eventually(() =>
      expect(events.map(({ event }) => event)).toContainEqual(
        expect.objectContaining({ event: 'a2a.refused', request_id: refused.request_id }),
      ),
    );
    expect(new Set(events.map(({ subject }) => subject))).toEqual(
      new Set(['a2a.notifier.main.out.acme']),
    );
  });

  it('may send an envelope of the maximum size, and receives an error for a larger one', async () => {
    const text = 'x'.repeat(1_100_000);
    const answer = await ask(envelope({ payload: { schema_version: '1.0', to: 'ann', text } }));
    expect(answer.headers?.get('status')).toBe('413');
    expect(answer.json<WireRefusal>().error.code).toBe('PAYLOAD_TOO_LARGE');
  });

  it('cannot send as another tenant or receive its events', async () => {
    const answer = await ask(envelope({ tenant_id: 'default' }));
    expect(['401', '403', '400']).toContain(answer.headers?.get('status'));
    expect(answer.json<WireRefusal>().error.code).toMatch(/FORBIDDEN|INVALID_ARGUMENT/);
  });

  it('can direct replies of the gateway only to its own inboxes', async () => {
    const heard: string[] = [];
    // the journal of a shard that does not exist: no other process writes to it
    const targets = ['jrn.main.99', 'a2a.notifier.main.out.default', '_INBOX.default.1'];
    for (const target of targets)
      troupe.subscribe(target, { callback: (_, { subject }) => void heard.push(subject) });
    await troupe.flush();
    const foreign = targets.map((reply) => {
      const body = envelope();
      acme.publish(IN, JSON.stringify(body), { headers: options.headers, reply });
      return body.request_id;
    });
    const last = envelope();
    await ask(last);
    await eventually(() => expect(namesOf(last.request_id)).toHaveLength(3));
    await eventually(() => {
      const refused = events.filter(({ event }) => event.event === 'a2a.refused');
      expect(refused.length).toBeGreaterThanOrEqual(1 + foreign.length);
    });
    await troupe.flush();
    expect(heard).toEqual([]);
    for (const requestId of foreign) expect(namesOf(requestId)).toEqual([]);
  });
});
