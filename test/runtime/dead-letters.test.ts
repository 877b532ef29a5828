/** DeadLetterLog over a log that contains a letter twice, as a relay may store it (D6). */
import { expect, it } from 'vitest';
import { encode } from '../../protocols/codec.ts';
import { deadLetterSubject } from '../../protocols/subjects.ts';
import { auditSubject, DeadLetterLog } from '../../runtime/dead-letters.ts';
import { createMemoryStore } from '../../runtime/log/memory.ts';
import { encodeKept } from '../../runtime/shard/commit/records.ts';
import { VirtualClock } from '../../library/simulation/virtual-clock.ts';
import { puppet } from './system/world.ts';

const audit = { who: 'otto', why: 'seen' };

/** Letters of `orders` by their numbers; `open` is another process. */
async function empty() {
  const clock = new VirtualClock();
  const { log } = createMemoryStore({ clock });
  const domains = async () => ['orders'];
  const client = {
    refuses: false,
    /** runs while a message is in transit */
    during: async () => {},
    tell: async () => {
      await client.during();
      const error = { code: 'UNAVAILABLE', message: 'closed' } as const;
      if (client.refuses) return { kind: 'refused', error } as const;
      return { kind: 'accepted', id: 'new' } as const;
    },
  };
  const open = () => new DeadLetterLog({ log, env: 'e', clock, client, domains });
  const put = async (...numbers: number[]) => {
    for (const n of numbers) {
      const error = {
        code: 'INTERNAL',
        message: 'no '.repeat(9_999),
        details: { all: 'x'.repeat(9_000) },
      };
      const event = {
        type: 'deadLetter',
        domain: 'orders',
        reason: 'R',
        at: n,
        id: `id-${n}`,
        error,
        event: { type: 'do', n },
      };
      const item = { to: puppet('a'), id: `out-${n}`, event, hops: 0 };
      await log.append(deadLetterSubject('orders', 'e'), encodeKept(item));
    }
  };
  const pass = (ms: number) => clock.run(clock.monotonicMs() + ms);
  return { letters: open(), log, open, put, client, pass };
}

/** Letters 1 and 2, and each again behind them. */
async function twice() {
  const desk = await empty();
  await desk.put(1, 2, 1, 2);
  return desk;
}

it('a letter that its log contains twice is listed once, and resolved once', async () => {
  const { letters } = await twice();
  const [first, second, ...none] = await letters.list();
  expect([first!.id, second!.id, none]).toEqual(['id-1', 'id-2', []]);
  await letters.drop(first!.position, audit, 'orders');
  expect(await letters.list()).toEqual([second]);
  const behind = second!.position + 1;
  expect(await letters.list({ domain: 'orders', from: behind })).toMatchObject([{ id: 'id-2' }]);
});

it('an audit of an older program names a letter of the runtime’s own domain by its position', async () => {
  const { letters, log } = await twice();
  const error = { code: 'INTERNAL', message: 'no' };
  const event = { type: 'deadLetter', reason: 'R', at: 1, id: 'own', error };
  const item = { to: puppet('a'), id: 'out', event, hops: 0 };
  const own = deadLetterSubject('actors', 'e');
  await log.append(own, encodeKept(item));
  expect(await letters.list({ domain: 'actors' })).toHaveLength(1);
  const position = await log.last(own);
  await log.append(auditSubject('e'), encode({ ...audit, position, at: 1, action: 'drop' }));
  expect(await letters.list({ domain: 'actors' })).toEqual([]);
  expect(await letters.audits()).toEqual([
    { ...audit, domain: 'actors', position, at: 1, action: 'drop' },
  ]);
});

const DAY_MS = 86_400_000;

it('a list contains heads of bounded size, and a single letter contains its message', async () => {
  const { letters, put } = await empty();
  await put(1);
  const [head] = await letters.list();
  expect(head).toMatchObject({ id: 'id-1', eventType: 'do', error: { code: 'INTERNAL' } });
  expect(head).not.toHaveProperty('event');
  expect(JSON.stringify(head).length).toBeLessThan(2_000);
  const whole = await letters.get(1, 'orders');
  expect(whole).toMatchObject({ event: { n: 1 } });
  expect(whole.error.message.length).toBeGreaterThan(20_000);
});

it('resolved letters are removed with their audit after 30 days, and no others are', async () => {
  const { letters, put, pass } = await empty();
  await put(1, 2);
  await letters.drop(1, audit, 'orders');
  await letters.drop(2, audit, 'orders');
  await pass(DAY_MS);
  await put(3, 4, 5);
  await letters.drop(4, audit, 'orders');
  await pass(28 * DAY_MS);
  expect(await letters.list({ domain: 'orders', includeResolved: true })).toHaveLength(5);
  await pass(3 * DAY_MS);
  const kept = await letters.list({ domain: 'orders', includeResolved: true });
  expect(kept.map(({ position }) => position)).toEqual([3, 4, 5]);
  expect((await letters.list()).map(({ position }) => position)).toEqual([3, 5]);
  expect(await letters.audits()).toMatchObject([{ position: 4 }]);
});

it('a copy behind an open letter stays resolved when the first copy was removed', async () => {
  const { letters, put, pass, open } = await empty();
  await put(1, 2, 1, 3);
  await letters.drop(1, audit, 'orders');
  await pass(31 * DAY_MS);
  await put(4);
  for (const one of [letters, letters, open()]) {
    expect((await one.list()).map(({ id }) => id)).toEqual(['id-2', 'id-3', 'id-4']);
    await pass(DAY_MS);
  }
  await expect(letters.get(1, 'orders')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('another process sees at once that a letter was resolved', async () => {
  const { letters, put, open } = await empty();
  await put(1, 2);
  const other = open();
  expect(await other.list()).toHaveLength(2);
  await letters.drop(1, audit, 'orders');
  expect((await other.list()).map(({ id }) => id)).toEqual(['id-2']);
  await letters.drop(2, audit, 'orders');
  expect(await other.list()).toEqual([]);
});

it('a letter whose redrive was refused is listed again by a reader that had passed it', async () => {
  const { letters, put, client } = await empty();
  await put(1, 2);
  client.refuses = true;
  const ids = async () => (await letters.list()).map(({ id }) => id);
  client.during = async () => expect(await ids()).toEqual(['id-2']);
  expect((await letters.redrive(1, audit, 'orders')).kind).toBe('refused');
  expect(await ids()).toEqual(['id-1', 'id-2']);
});
