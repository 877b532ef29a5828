/** Queued audit records, and the order in which they are written. */
import { expect, test } from 'vitest';
import { AuditTrail } from '../../../../channels/gateway/tenant/audit-trail.ts';
import type { AuditRecord } from '../../../../protocols/audit.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type { System } from '../../../../runtime/index.ts';
import { silentLog } from '../client.ts';
import { StillClock } from '../still-clock.ts';

const DAY_MS = 86_400_000;

/** An audit trail with a store that can be unavailable. */
const opened = () => {
  const clock = new StillClock();
  const store = { isAway: false, tries: 0, written: [] as { to: string; codes: string[] }[] };
  const tell = (to: string, note: object) => {
    store.tries++;
    if (store.isAway) return Promise.reject(new TroupeError('UNAVAILABLE', 'away'));
    const { records } = note as { records: readonly AuditRecord[] };
    store.written.push({ to, codes: records.map(({ code = '' }) => code) });
    return Promise.resolve({ kind: 'accepted' });
  };
  const system = { tell, ask: tell } as unknown as Pick<System, 'tell' | 'ask'>;
  const trail = new AuditTrail({ system, tenant: 'acme', gateway: 'g', clock, log: silentLog });
  const refuse = (code: string) => trail.connectRefused('unknown', '127.0.0.1', code);
  return { clock, store, trail, refuse };
};

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('records that could not be written are written later, before newer ones', async () => {
  const { clock, store, trail, refuse } = opened();
  store.isAway = true;
  refuse('first');
  clock.move(1_000);
  await turn();
  expect(store.written).toEqual([]);
  refuse('second');
  store.isAway = false;
  clock.move(1_000);
  await turn();
  expect(store.written.flatMap(({ codes }) => codes)).toEqual(['first', 'second']);
  await trail.close();
});

test('each record is written to the day on which it was made', async () => {
  const { clock, store, trail, refuse } = opened();
  store.isAway = true;
  refuse('old');
  clock.move(DAY_MS);
  await turn();
  refuse('new');
  store.isAway = false;
  await trail.close();
  expect(store.written.map(({ codes }) => codes)).toEqual([['old'], ['new']]);
  expect(new Set(store.written.map(({ to }) => to)).size).toBe(2);
});

test('nothing is retried after the close', async () => {
  const { clock, store, trail, refuse } = opened();
  store.isAway = true;
  refuse('late');
  await trail.close();
  const { tries } = store;
  expect(tries).toBe(1);
  clock.move(DAY_MS);
  await turn();
  expect(store.tries).toBe(tries);
});
