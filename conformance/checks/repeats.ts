/** Idempotency, order and time. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskView } from '../../protocols/task.ts';
import { type Check, checksOf } from '../check.ts';

const COPIES = 10;
/** Long enough to be late, short enough to wait for. */
const TTL_SEC = 4;
const calls = (view: TaskView): unknown => (view.result as { calls?: unknown } | undefined)?.calls;

export const idempotencyChecks: readonly Check[] = checksOf('idempotency', {
  'idempotency.same': [
    'a repeat of key and payload receives the first result, and the work is done once',
    async (t) => {
      const envelope = t.envelope(t.action('count'));
      const first = await t.ended(await t.accepted(envelope));
      const later = { ...envelope, request_id: randomUUID(), timestamp: new Date().toISOString() };
      const again = await t.ended(await t.accepted(later));
      t.expect(again.task_id === first.task_id, 'a repeat finds the first task', again);
      t.expect(calls(again) === 1 && calls(first) === 1, 'the work is done once', again);
    },
  ],
  'idempotency.conflict': [
    'the same key with another payload is refused',
    async (t) => {
      const envelope = t.envelope(t.action('echo'), { text: 'one' });
      await t.accepted(envelope);
      const other = {
        ...envelope,
        seq: envelope.seq + 1,
        payload: { ...envelope.payload, text: 'two' },
      };
      await t.refused(other, 'CONFLICT', 'another payload under the same key');
    },
  ],
  'idempotency.at-once': [
    'concurrent copies become one task, which is done once',
    async (t) => {
      const envelope = t.envelope(t.action('count'));
      const views = await Promise.all(
        Array.from({ length: COPIES }, async () => t.ended(await t.accepted(envelope))),
      );
      const ids = new Set(views.map(({ task_id }) => task_id));
      t.expect(ids.size === 1, `${COPIES} copies are one task`, [...ids]);
      t.expect(
        views.every((view) => calls(view) === 1),
        'the work is done once',
        views[0],
      );
    },
  ],
  'idempotency.scope': [
    'a key is scoped to its subject: another subject creates another task',
    async (t) => {
      const key = randomUUID();
      const [a, b] = [
        await t.call(t.action('echo'), { text: 'a' }, { idempotency_key: key }),
        await t.call(t.action('echo'), { text: 'a' }, { idempotency_key: key }),
      ];
      t.expect(a.task_id !== b.task_id, 'two subjects, two tasks', [a.task_id, b.task_id]);
    },
  ],
});

export const orderChecks: readonly Check[] = checksOf('out of order', {
  'order.lower': [
    'a seq that is not above the last one of its sender and subject is refused with last_seq',
    async (t) => {
      const subject = `conformance-${randomUUID()}`;
      const numbered = (seq: number) =>
        t.envelope(t.action('echo'), { subject, text: 'x' }, { seq });
      await t.accepted(numbered(10));
      for (const seq of [9, 10]) {
        const { error, reply } = await t.refused(numbered(seq), 'CONFLICT', `seq ${seq} after 10`);
        t.expect(error.details?.['last_seq'] === 10, 'details.last_seq is 10', reply);
      }
    },
  ],
  'order.gap': [
    'a gap in seq is accepted',
    async (t) => {
      const subject = `conformance-${randomUUID()}`;
      for (const seq of [1, 5, 1_000]) {
        await t.accepted(t.envelope(t.action('echo'), { subject, text: 'x' }, { seq }));
      }
    },
  ],
  'order.subject': [
    'another subject has its own sequence',
    async (t) => {
      const name = `conformance-${randomUUID()}`;
      for (const [subject, seq] of [
        [`${name}-a`, 1_000],
        [`${name}-b`, 1],
      ] as const)
        await t.accepted(t.envelope(t.action('echo'), { subject, text: 'x' }, { seq }));
    },
  ],
  'order.major': [
    'another MAJOR version has its own sequence',
    async (t) => {
      const subject = `conformance-${randomUUID()}`;
      const numbered = (seq: number, action_version: string) =>
        t.envelope(t.action('old'), { subject }, { seq, action_version });
      await t.accepted(numbered(50, '1.0.0'));
      await t.accepted(numbered(1, '2.0.0'));
    },
  ],
  'order.idempotency-first': [
    'a repeat is recognized by its key before its seq is checked',
    async (t) => {
      const subject = `conformance-${randomUUID()}`;
      const first = t.envelope(t.action('echo'), { subject, text: 'x' }, { seq: 1 });
      const view = await t.accepted(first);
      await t.accepted(t.envelope(t.action('echo'), { subject, text: 'y' }, { seq: 2 }));
      const again = await t.accepted(first);
      t.expect(again.task_id === view.task_id, 'the repeat gets the first task', again);
    },
  ],
});

export const ttlChecks: readonly Check[] = checksOf('ttl', {
  'ttl.passed': [
    'an expired envelope is refused',
    async (t) => {
      const timestamp = new Date(Date.now() - 120_000).toISOString();
      const envelope = t.envelope(t.action('echo'), { text: 'x' }, { timestamp, ttl_sec: 60 });
      await t.refused(envelope, 'EXPIRED', 'a ttl of 60 s, two minutes old');
    },
  ],
  'ttl.future': [
    'a timestamp more than a minute in the future is refused',
    async (t) => {
      const timestamp = new Date(Date.now() + 120_000).toISOString();
      const envelope = t.envelope(t.action('echo'), { text: 'x' }, { timestamp });
      await t.refused(envelope, 'INVALID_ARGUMENT', 'a timestamp two minutes ahead');
    },
  ],
  'ttl.repeat': [
    'a repeat of an accepted envelope is answered even after its ttl',
    async (t) => {
      const envelope = t.envelope(t.action('echo'), { text: 'x' }, { ttl_sec: TTL_SEC });
      const first = await t.ended(await t.accepted(envelope));
      await sleep(Date.parse(envelope.timestamp) + TTL_SEC * 1_000 + 200 - Date.now());
      const again = await t.accepted(envelope);
      t.expect(again.task_id === first.task_id, 'the repeat gets the first task', again);
    },
  ],
});
