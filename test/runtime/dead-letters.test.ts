/** DeadLetterLog over a log that holds a letter twice, as a relay may leave it (D6). */
import { expect, it } from 'vitest';
import { encode } from '../../protocols/codec.ts';
import { deadLetterSubject } from '../../protocols/subjects.ts';
import { auditSubject, DeadLetterLog } from '../../runtime/dead-letters.ts';
import { createMemoryStore } from '../../runtime/log/memory.ts';
import { encodeKept } from '../../runtime/shard/records.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';
import { puppet } from './system/world.ts';

const audit = { who: 'otto', why: 'seen' };

/** Letters 1 and 2 of `orders`, and each again behind them. */
async function twice() {
  const clock = new VirtualClock();
  const { log } = createMemoryStore({ clock });
  const domains = async () => ['orders'];
  const door = { tell: async () => ({ kind: 'accepted', id: 'new' }) as const };
  const letters = new DeadLetterLog({ log, env: 'e', clock, door, domains });
  for (const n of [1, 2, 1, 2]) {
    const event = { type: 'deadLetter', domain: 'orders', reason: 'R', at: n, id: `id-${n}` };
    const item = { to: puppet('a'), id: `out-${n}`, event, hops: 0 };
    await log.append(deadLetterSubject('orders', 'e'), encodeKept(item));
  }
  return { letters, log };
}

it('a letter that its log holds twice is listed once, and dealt with once', async () => {
  const { letters } = await twice();
  const [first, second, ...none] = await letters.list();
  expect([first!.id, second!.id, none]).toEqual(['id-1', 'id-2', []]);
  await letters.drop(first!.position, audit, 'orders');
  expect(await letters.list()).toEqual([second]);
  const behind = second!.position + 1;
  expect(await letters.list({ domain: 'orders', from: behind })).toMatchObject([{ id: 'id-2' }]);
});

it('an audit of an older program names a letter of the runtime’s own by its position', async () => {
  const { letters, log } = await twice();
  const event = { type: 'deadLetter', reason: 'R', at: 1, id: 'own' };
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
