import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import {
  connect,
  type ConnectionOptions,
  errors,
  type NatsConnection,
} from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../runtime/clock/clock.ts';
import { openNats } from '../../runtime/cluster/open-nats.ts';
import { createMemoryStore } from '../../runtime/log/memory.ts';
import { deadLetterSubject, entryPointSubject } from '../../protocols/subjects.ts';
import { eventually } from '../runtime/eventually.ts';
import { describeOnNats } from '../servers/describe-on-nats.ts';
import { type NatsServer, startNats } from '../servers/nats.ts';
import { shippedConfig } from './shipped-config.ts';

const TROUPE = { user: 'troupe', pass: 'of-the-cell' };
const ACME = { user: 'acme', pass: 'of-a-tenant', inboxPrefix: '_INBOX.acme' };
const IN = entryPointSubject('in', 'orders', 'main', 'acme');
const OUT = entryPointSubject('out', 'orders', 'main', 'acme');

/** Subjects that a tenant's program must not use. */
const FOREIGN = [
  'mbx.main.3.data',
  'jrn.main.3',
  'trn.main.acme.session.k',
  'blb.main.n',
  'bus.main.beat',
  'cell.main',
  deadLetterSubject('orders', 'main'),
  entryPointSubject('in', 'orders', 'main', 'globex'),
  entryPointSubject('out', 'orders', 'main', 'globex'),
  entryPointSubject('in', 'orders', 'other', 'acme'),
  '$JS.API.INFO',
  '$JS.API.STREAM.PURGE.troupe-main-journal',
  '$JS.API.STREAM.MSG.GET.troupe-main-journal',
  '$JS.ACK.troupe-main-mail.c.1.1.1.1.0',
  '$SYS.REQ.SERVER.PING',
];

describeOnNats('The users of deploy/nats.conf', ({ path }) => {
  let server: NatsServer;
  let troupe: NatsConnection;
  let acme: NatsConnection;
  const folder = mkdtempSync(join(tmpdir(), 'troupe-permissions-'));
  const refusals: string[] = [];
  const dial = (options: ConnectionOptions): Promise<NatsConnection> =>
    connect({ servers: server.url, reconnect: false, ...options });

  beforeAll(async () => {
    process.env['TROUPE_NATS_PASSWORD'] = TROUPE.pass;
    process.env['ACME_NATS_PASSWORD'] = ACME.pass;
    server = await startNats({ path, config: shippedConfig(['acme'], { store: folder }) });
    troupe = await dial(TROUPE);
    acme = await dial(ACME);
    void collect(acme, refusals);
  });
  afterAll(async () => {
    await acme.close();
    await troupe.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('let a tenant send requests to its own subject and receive answers in its own inbox', async () => {
    const incoming = troupe.subscribe(IN, {
      callback: (_, message) => void message.respond(`answer to ${message.string()}`),
    });
    await troupe.flush();
    const answer = await acme.request(IN, 'question', { timeout: 5_000 });
    expect([answer.string(), answer.subject.startsWith('_INBOX.acme.')]).toEqual([
      'answer to question',
      true,
    ]);
    incoming.unsubscribe();
  });

  it('let a tenant receive its events from every domain', async () => {
    const heard: string[] = [];
    acme.subscribe('a2a.*.main.out.acme', {
      callback: (_, message) => void heard.push(`${message.subject} ${message.string()}`),
    });
    await acme.flush();
    troupe.publish(OUT, 'event');
    await eventually(() => expect(heard).toEqual([`${OUT} event`]));
  });

  it('let a tenant publish nothing else, not even where it may subscribe', async () => {
    const subjects = [...FOREIGN, OUT, '_INBOX.acme.own', '_INBOX.globex.1', '_INBOX.1'];
    const arrived: string[] = [];
    const all = troupe.subscribe('>', {
      callback: (_, { subject }) => void arrived.push(subject),
    });
    await troupe.flush();
    for (const subject of subjects) acme.publish(subject, 'intrusion');
    acme.publish(IN, 'last');
    await eventually(() => expect(arrived).toContain(IN));
    all.unsubscribe();
    expect(arrived).toEqual([IN]);
    await eventually(() => {
      for (const subject of subjects) expect(refusals).toContain(`publish ${subject}`);
    });
  });

  it('let a tenant subscribe to nothing else, not even by wildcard', async () => {
    const subjects = [...FOREIGN, IN, '_INBOX.globex.>', '_INBOX.>', '>', '*.>', 'a2a.>'];
    const outcomes: Record<string, string> = {};
    for (const subject of subjects)
      acme.subscribe(subject, {
        callback: (error) => {
          outcomes[subject] ??= error ? 'refused' : 'heard';
        },
      });
    await acme.flush();
    for (const subject of [...FOREIGN, IN, '_INBOX.globex.1']) troupe.publish(subject, 'secret');
    await eventually(() =>
      expect(outcomes).toEqual(Object.fromEntries(subjects.map((subject) => [subject, 'refused']))),
    );
  });

  it('let a tenant neither read nor change streams', async () => {
    const asked = jetstreamManager(acme, { timeout: 1_000, checkAPI: true });
    await expect(asked).rejects.toThrow(/permission/i);
  });

  it('refuse a wrong password and a missing one', async () => {
    for (const wrong of [{ ...ACME, pass: TROUPE.pass }, { ...TROUPE, pass: '' }, {}])
      await expect(dial(wrong)).rejects.toBeInstanceOf(errors.AuthorizationError);
  });

  it('let troupe do everything that a cell needs', async () => {
    const { store, bus, blobs } = await openNats({
      servers: [server.url],
      ...TROUPE,
      env: 'main',
      shards: 4,
      state: () => createMemoryStore({ clock: systemClock, atomic: false }).state,
      onAlarm: () => {},
    });
    const stored = await store.log.append('jrn.main.3', Buffer.from('record'), { expectedLast: 0 });
    const follow = store.log.follow('jrn.main.3', 1);
    expect((await follow.next()).map(({ position }) => ({ kind: 'stored', position }))).toEqual([
      stored,
    ]);
    follow.close();
    await store.log.trim('jrn.main.3', 1);
    await blobs.put('snap/3', Buffer.from('rows'));
    expect(Buffer.from((await blobs.get('snap/3'))!).toString()).toBe('rows');
    const heard: unknown[] = [];
    bus.subscribe('beat', ({ payload }) => heard.push(payload));
    await eventually(() => {
      bus.publish('beat', 1);
      expect(heard).toContain(1);
    });
    await bus.close();
    await store.close();
  });
});

/** The server's permission errors for this connection: `publish a.b`, `subscription a.b`. */
async function collect(nc: NatsConnection, refusals: string[]): Promise<void> {
  for await (const status of nc.status())
    if (status.type === 'error' && status.error instanceof errors.PermissionViolationError)
      refusals.push(`${status.error.operation} ${status.error.subject}`);
}
