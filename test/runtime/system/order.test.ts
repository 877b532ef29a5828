/**
 * Order: messages of one lane from one sender to one receiver are applied in the order sent (I4).
 */
import { describe, expect, it } from 'vitest';
import type { Message } from '../../../protocols/statechart.ts';
import { eventually } from '../eventually.ts';
import { puppetType } from './puppet.ts';
import { openWorld, puppet } from './world.ts';

const a = puppet('a');
const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n);
const labels = (type: string, ns: readonly number[]) => ns.map((n) => `${type}:${n}`);

describe('order', () => {
  it('holds for many senders and receivers, over restarts in the middle', async () => {
    const world = await openWorld({ shards: 4, limits: { groupTurnsMax: 7 } });
    const senders = numbers(6).map((n) => puppet(`sender-${n}`));
    const receivers = numbers(5).map((n) => puppet(`receiver-${n}`));
    for (let round = 0; round < 3; round++) {
      for (const [s, sender] of senders.entries()) {
        for (const n of numbers(10, round * 10)) {
          const event = { type: 'do', n: `${s}.${n}` };
          void world.tell(sender, { type: 'do', tells: receivers.map((to) => ({ to, event })) });
        }
      }
      await world.restart();
    }
    await eventually(() => {
      for (const to of receivers) expect(world.seen(to)).toHaveLength(180);
    });
    for (const to of receivers) {
      for (const s of senders.keys()) {
        const mine = world.seen(to).filter((label) => label.startsWith(`do:${s}.`));
        expect(mine).toEqual(numbers(30).map((n) => `do:${s}.${n}`));
      }
    }
  });

  it('holds for a client that does not wait for answers', async () => {
    const world = await openWorld();
    await Promise.all(numbers(500).map((n) => world.tell(a, { type: 'do', n })));
    await eventually(() => expect(world.seen(a)).toEqual(labels('do', numbers(500))));
  });

  it('holds between stashed messages and later ones', async () => {
    const world = await openWorld();
    const events: Message[] = [
      { type: 'close' },
      ...numbers(5).map((n) => ({ type: 'soft', n })),
      { type: 'open' },
      ...numbers(5, 5).map((n) => ({ type: 'soft', n })),
    ];
    await Promise.all(events.map((event) => world.tell(a, event)));
    await eventually(() =>
      expect(world.seen(a)).toEqual(['close', 'open', ...labels('soft', numbers(10))]),
    );
  });

  it('holds when there are more waiting messages than a record can contain', async () => {
    const world = await openWorld({ limits: { groupTurnsMax: 3 } });
    await world.ask(a, { type: 'close' });
    const sent = numbers(20).map((n) => world.tell(a, { type: 'soft', n }));
    const opened = world.tell(a, { type: 'open' });
    const after = numbers(20, 20).map((n) => world.tell(a, { type: 'soft', n }));
    await Promise.all([...sent, opened, ...after]);
    await eventually(() =>
      expect(world.seen(a)).toEqual(['close', 'open', ...labels('soft', numbers(40))]),
    );
  });

  it('of waiting messages is kept by a state that accepts only some of them', async () => {
    const world = await openWorld();
    await world.ask(a, { type: 'close' });
    await world.tell(a, { type: 'soft', n: 1 });
    await world.tell(a, { type: 'mild', n: 1 });
    await world.tell(a, { type: 'mild', n: 2 });
    await world.ask(a, { type: 'half' });
    await world.ask(a, { type: 'mild', n: 3 });
    expect(world.seen(a)).toEqual(['close', 'half', 'mild:1', 'mild:2', 'mild:3']);
    await world.tell(a, { type: 'soft', n: 2 });
    await world.ask(a, { type: 'open' });
    await world.ask(a, { type: 'soft', n: 3 });
    expect(world.seen(a).slice(5)).toEqual(['open', 'soft:1', 'soft:2', 'soft:3']);
  });

  it('of stashed messages is kept when an actor defers again in between, and across restarts', async () => {
    const world = await openWorld({ actors: [puppetType({ idleMs: 0 })] });
    await world.ask(a, { type: 'close' });
    const events = [
      { type: 'soft', n: 1 },
      { type: 'mild', n: 1 },
      { type: 'soft', n: 2 },
    ];
    for (const event of events) await world.tell(a, event);
    await world.restart();
    await world.ask(a, { type: 'half' });
    await world.restart();
    await world.tell(a, { type: 'soft', n: 3 });
    await world.ask(a, { type: 'mild', n: 2 });
    await world.ask(a, { type: 'open' });
    await world.ask(a, { type: 'soft', n: 4 });
    const seen = [
      'close',
      'half',
      'mild:1',
      'mild:2',
      'open',
      'soft:1',
      'soft:2',
      'soft:3',
      'soft:4',
    ];
    expect(world.seen(a)).toEqual(seen);
  });
});

describe('control messages', () => {
  it('overtake data messages in the mailbox', async () => {
    const world = await openWorld({ shards: 1, limits: { groupTurnsMax: 4 } });
    const sent = numbers(400).map((n) => world.tell(a, { type: 'do', n }));
    const control = world.tell(a, { type: 'do', n: 'control' }, { lane: 'control' });
    await Promise.all([...sent, control]);
    await eventually(() => expect(world.seen(a)).toHaveLength(401));
    const seen = world.seen(a);
    expect(seen.indexOf('do:control')).toBeLessThan(399);
    expect(seen.filter((label) => label !== 'do:control')).toEqual(labels('do', numbers(400)));
  });

  it('of one sender stay in order among themselves', async () => {
    const world = await openWorld();
    const tells = numbers(30).map((n) => ({
      to: a,
      event: { type: 'do', n },
      lane: n % 2 === 0 ? 'control' : 'data',
    }));
    await world.ask(puppet('sender'), { type: 'do', tells });
    await eventually(() => expect(world.seen(a)).toHaveLength(30));
    for (const rest of [0, 1]) {
      const lane = world.seen(a).filter((label) => Number(label.slice(3)) % 2 === rest);
      expect(lane).toEqual(
        labels(
          'do',
          numbers(30).filter((n) => n % 2 === rest),
        ),
      );
    }
  });
});
