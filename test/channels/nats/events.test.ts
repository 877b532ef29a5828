/** Events on a domain's out subject, and when they are published. */
import { headers as newHeaders, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Edge } from '../../../channels/edge/edge.ts';
import { type NatsEntryPoint, startNatsEntryPoint } from '../../../channels/nats/entry-point.ts';
import { checker } from '../../../protocols/check.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import { RefusedEventSchema } from '../../../protocols/refused-event.ts';
import { entryPointSubject } from '../../../protocols/subjects.ts';
import { entryPointEventsTopic, type TaskEvent, TaskEventSchema } from '../../../protocols/task.ts';
import { connectNats } from '../../../runtime/cluster/nats-connection.ts';
import { type NodeStatus, type System, systemClock } from '../../../runtime/index.ts';
import { NatsPubsub } from '../../../runtime/pubsub/nats-pubsub.ts';
import { eventually } from '../../runtime/eventually.ts';
import { describeOnNats } from '../../servers/describe-on-nats.ts';
import { type NatsServer, startNats } from '../../servers/nats.ts';
import { bytesOf, envelope, openRealTasks, type RealTasks } from '../edge/real-tasks.ts';

type Received = { readonly event: string; readonly event_id?: string; readonly by?: string };
const isTaskEvent = checker(TaskEventSchema);
const isRefused = checker(RefusedEventSchema);

describeOnNats('the NATS entry point', ({ path }) => {
  let server: NatsServer;
  let real: RealTasks;
  let edge: Edge;
  let own: NatsConnection;
  let outside: NatsConnection;
  let cells = 0;
  let env = '';
  let living: string[] = [];
  let received: (Received & Record<string, unknown>)[] = [];
  let entryPoints: NatsEntryPoint[] = [];
  beforeAll(async () => {
    server = await startNats({ path });
    real = await openRealTasks();
    edge = real.edge();
    own = await connectNats({ servers: [server.url] });
    outside = await connectNats({ servers: [server.url] });
  });
  afterAll(async () => {
    await outside.close();
    await own.close();
    await real.stop();
    await server.stop();
  });
  beforeEach(async () => {
    env = `cell-${cells++}`;
    living = ['one'];
    received = [];
    outside.subscribe(`a2a.*.${env}.out.*`, {
      callback: (_, message) => {
        const event = message.json<Received & Record<string, unknown>>();
        received.push({ ...event, key: message.headers?.get('Nats-Msg-Id') });
      },
    });
    await outside.flush();
  });
  afterEach(async () => {
    for (const entryPoint of entryPoints) await entryPoint.close();
    entryPoints = [];
  });

  const gateways = (): readonly NodeStatus[] =>
    living.map((node) => ({ ...GATEWAY, node, name: node }));
  const open = async (
    node = 'one',
    { bus = real.system.bus, messages = 100, at = edge, nodes = gateways } = {},
  ): Promise<NatsEntryPoint> => {
    const entryPoint = startNatsEntryPoint({
      edge: at,
      env,
      node,
      pubsub: new NatsPubsub(own),
      system: { bus, index: real.system.index, nodes },
      clock: systemClock,
      outstanding: { messages, bytes: 1_000_000 },
      log: { warn: () => {} },
    });
    entryPoints.push(entryPoint);
    await own.flush();
    return entryPoint;
  };
  const signedIn = () => {
    const headers = newHeaders();
    headers.set('Authorization', 'Bearer alice');
    return headers;
  };
  const subject = () => entryPointSubject('in', 'test', env, 'acme');
  const send = (value: Envelope | string, to = subject()) =>
    outside.publish(to, typeof value === 'string' ? value : bytesOf(value), {
      headers: signedIn(),
    });
  const idsOf = (ends: string) => received.filter(({ event }) => event.endsWith(ends));

  it('publishes the events of a task, in order, according to their schema', async () => {
    await open();
    const asked = envelope();
    send(asked);
    await eventually(() => expect(received).toHaveLength(3));
    expect(received.map(({ event }) => event)).toEqual([
      'test.echo_text.accepted',
      'test.echo_text.running',
      'test.echo_text.done',
    ]);
    for (const { key, ...event } of received) {
      expect(isTaskEvent(event)).toMatchObject({ ok: true });
      expect(key).toBe(event.event_id);
    }
    const last = received[2] as unknown as TaskEvent;
    expect(last.task).toMatchObject({ state: 'SUCCEEDED', request_id: asked.request_id });
  });

  it('publishes a refusal on the out subject when there is no reply subject', async () => {
    await open();
    const asked = envelope({ action: 'test.find_nothing' });
    send(asked);
    await eventually(() => expect(received).toHaveLength(1));
    const { key: _, ...refusal } = received[0]!;
    expect(isRefused(refusal)).toMatchObject({ ok: true });
    expect(received[0]).toMatchObject({
      event: 'a2a.refused',
      error: { code: 'NOT_FOUND' },
      request_id: asked.request_id,
      trace_id: asked.trace_id,
    });
  });

  it('refuses envelopes beyond its bound at once, by reply and by event', async () => {
    await open('one', { messages: 1 });
    const gate = `beyond-${env}`;
    const payload = { schema_version: '1.0', gate };
    const held = outside.request(
      subject(),
      bytesOf(envelope({ action: 'test.hold_work', payload })),
      { headers: signedIn(), timeout: 20_000 },
    );
    await eventually(() => expect(real.gate.begun).toContain(gate));
    const refused = await outside.request(subject(), bytesOf(envelope()), { timeout: 20_000 });
    expect(refused.headers?.get('status')).toBe('429');
    expect(refused.headers?.get('retry-after')).toBe('1');
    send(envelope());
    await eventually(() => expect(idsOf('refused')).toHaveLength(1));
    expect(idsOf('refused')[0]).toMatchObject({ retry_after_sec: 1 });
    real.gate.open(gate);
    expect((await held).headers?.get('status')).toBe('200');
  });

  it.each([
    ['another tenant', () => entryPointSubject('in', 'test', env, 'other')],
    ['another domain', () => entryPointSubject('in', 'orders', env, 'acme')],
    ['a tenant with an invalid escape', () => `a2a.test.${env}.in.%zz`],
  ])('refuses an envelope on the subject of %s', async (_, to) => {
    await open();
    const options = { headers: signedIn(), timeout: 20_000 };
    const answer = await outside.request(to(), bytesOf(envelope()), options);
    expect(['400', '403']).toContain(answer.headers?.get('status'));
    expect(answer.json()).toHaveProperty('error.message');
  });

  it.each(['mbx.main.0.data', 'jrn.main.0', '_INBOX.other.1', '_INBOX.acme', '$JS.API.INFO'])(
    'writes nothing to the reply subject %s',
    async (reply) => {
      await open();
      const got: string[] = [];
      outside.subscribe(reply, { callback: (_, { data }) => void got.push(String(data)) });
      await outside.flush();
      const asked = envelope();
      outside.publish(subject(), bytesOf(asked), { headers: signedIn(), reply });
      await eventually(() => expect(idsOf('refused')).toHaveLength(1));
      expect(idsOf('refused')[0]).toMatchObject({ error: { code: 'INVALID_ARGUMENT' } });
      await outside.flush();
      // the test's own message is not on it either: it was sent to the subject of the entry point
      expect(got).toEqual([]);
      expect(received).toHaveLength(1);
    },
  );

  it('replies to an inbox of the tenant', async () => {
    await open();
    const got: string[] = [];
    outside.subscribe('_INBOX.acme.7', { callback: (_, { data }) => void got.push(String(data)) });
    const options = { headers: signedIn(), reply: '_INBOX.acme.7' };
    outside.publish(subject(), bytesOf(envelope()), options);
    await eventually(() => expect(got).toHaveLength(1));
  });

  it('survives any input, and answers it', async () => {
    await open();
    const answer = await outside.request(subject(), '\u0000{', { timeout: 20_000 });
    expect(answer.headers?.get('status')).toBe('400');
    send('nonsense', `a2a.test.${env}.in.%zz`);
    await eventually(() => expect(idsOf('refused')).toHaveLength(1));
  });

  it('publishes the last event again when the envelope of an ended task is repeated', async () => {
    await open();
    const asked = envelope();
    send(asked);
    await eventually(() => expect(idsOf('done')).toHaveLength(1));
    send(asked);
    await eventually(() => expect(idsOf('done')).toHaveLength(2));
    expect(idsOf('done')[0]!.event_id).toBe(idsOf('done')[1]!.event_id);
  });

  it('publishes each event once, whichever gateways receive it, and distributes the tasks', async () => {
    living = ['one', 'two', 'three'];
    for (const node of living) await open(node);
    for (let n = 0; n < 60; n++) send(envelope());
    await eventually(() => expect(idsOf('done')).toHaveLength(60));
    expect(new Set(received.map(({ event_id }) => event_id)).size).toBe(180);
    expect(received).toHaveLength(180);
  });

  it('reads an event from the rows that the Bus lost', async () => {
    const lossy = withoutEvents(real.system, ({ n }) => n > 1);
    await open('one', { bus: lossy });
    send(envelope());
    await eventually(() => expect(idsOf('done')).toHaveLength(1));
    expect(received.map(({ event }) => event.split('.').at(-1))).toEqual([
      'accepted',
      'running',
      'done',
    ]);
  });

  it('finds a task of which no event was received', async () => {
    await open('one', { bus: withoutEvents(real.system, () => true) });
    send(envelope());
    await eventually(() => expect(received).toHaveLength(3));
  });

  it('fills a gap as soon as a later event is received', async () => {
    await open('one', { bus: withoutEvents(real.system, ({ n }) => n === 2) });
    send(envelope());
    await eventually(() => expect(received).toHaveLength(3));
    expect(received.map(({ event }) => event.split('.').at(-1))).toEqual([
      'accepted',
      'running',
      'done',
    ]);
  });

  it('publishes again the events that a lost gateway may not have published', async () => {
    living = ['one', 'dead'];
    await open();
    const asked = Array.from({ length: 20 }, () => envelope());
    // answered, so that every event has been received
    const options = { headers: signedIn(), timeout: 20_000 };
    for (const one of asked) await outside.request(subject(), bytesOf(one), options);
    await eventually(() => expect(idsOf('done').length).toBeGreaterThan(0));
    expect(idsOf('done').length).toBeLessThan(20);
    living = ['one'];
    await eventually(() => {
      const done = idsOf('done') as unknown as TaskEvent[];
      expect(new Set(done.map(({ task }) => task.request_id)).size).toBe(20);
    });
  });

  it('publishes every event while it is not in the list of gateways', async () => {
    living = ['two'];
    await open();
    for (let n = 0; n < 10; n++) send(envelope());
    await eventually(() => expect(idsOf('done')).toHaveLength(10));
  });

  it('publishes an event of a domain that is not about a task, once', async () => {
    living = ['one', 'two'];
    for (const node of living) await open(node);
    const said = { event: 'test.echo_text.deprecation', action: 'test.echo_text', major: 1 };
    real.system.bus.publish(entryPointEventsTopic('acme', 'test'), { type: 'note', ...said });
    send(envelope());
    await eventually(() => expect(idsOf('done')).toHaveLength(1));
    expect(idsOf('deprecation')).toHaveLength(1);
    expect(idsOf('deprecation')[0]).toMatchObject(said);
  });

  it('answers the accepted envelopes before it closes', async () => {
    const entryPoint = await open();
    const gate = `closing-${env}`;
    const asked = envelope({
      action: 'test.hold_work',
      payload: { schema_version: '1.0', gate },
    });
    const options = { headers: signedIn(), timeout: 20_000 };
    const answer = outside.request(subject(), bytesOf(asked), options);
    await eventually(() => expect(real.gate.begun).toContain(gate));
    const closing = entryPoint.close();
    real.gate.open(gate);
    expect((await answer).headers?.get('status')).toBe('200');
    await closing;
    const late = outside.request(subject(), bytesOf(envelope()), { timeout: 20_000 });
    await expect(late).rejects.toThrow(/no responders/i);
  });
});

/** The system's own bus, which loses some events of tasks. */
const withoutEvents = (
  { bus }: Pick<System, 'bus'>,
  isLost: (event: TaskEvent) => boolean,
): System['bus'] => ({
  connected: true,
  publish: (subject, payload) => bus.publish(subject, payload),
  request: (subject, payload, options) => bus.request(subject, payload, options),
  close: () => Promise.resolve(),
  subscribe: (pattern, onMessage) =>
    bus.subscribe(pattern, (message) => {
      if (!isLost(message.payload as TaskEvent)) onMessage(message);
    }),
});

const GATEWAY: NodeStatus = {
  node: '',
  name: '',
  role: 'gateway',
  version: '0',
  startedAtMs: 0,
  draining: false,
  cordoned: false,
  labels: {},
  weight: 1,
  reads: 1,
  writes: 1,
  types: [],
  load: { cpu: 0, eventLoop: 0, effects: 0, rssBytes: 0, turnsPerSecond: 0 },
  shards: 0,
  ageMs: 0,
};
