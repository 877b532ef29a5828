/** Mailbox policies: the handling of messages that an actor cannot process yet. */
import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { puppetType } from './puppet.ts';
import { openWorld, puppet, type World } from './world.ts';

const a = puppet('a');
const b = puppet('b');
const type = (whenFull: 'reject' | 'defer' | 'coalesce' | 'dropOldest', capacity = 2) =>
  puppetType({ mailbox: { capacity, whenFull } });

async function closed(actors: ReturnType<typeof type>[]): Promise<World> {
  const world = await openWorld({ actors });
  await world.ask(a, { type: 'close' });
  return world;
}
const soft = (n: number) => ({ type: 'soft', n });
const opened = async (world: World) => {
  await world.ask(a, { type: 'open' });
  await eventually(() => expect(world.seen(a)).toContain('open'));
  await world.ask(a, { type: 'do' });
  return world.seen(a).filter((label) => /^(soft|mild)/.test(label));
};

describe('a full mailbox', () => {
  it('that rejects refuses the newest to its sender, also after a restart', async () => {
    const world = await closed([type('reject')]);
    await world.tell(a, soft(1));
    await world.tell(a, soft(2));
    const full = { kind: 'refused', error: { code: 'RATE_LIMIT_EXCEEDED' } };
    expect(await world.ask(a, soft(3))).toMatchObject(full);
    await world.restart();
    expect(await world.ask(a, soft(4))).toMatchObject(full);
    await world.ask(b, { type: 'do', tells: [{ to: a, event: soft(5) }] });
    await eventually(() =>
      expect(world.known(b).received).toMatchObject([
        { type: 'refused', error: { code: 'RATE_LIMIT_EXCEEDED' } },
      ]),
    );
    expect(await opened(world)).toEqual(['soft:1', 'soft:2']);
  });

  it('that defers keeps ten times as many, then refuses', async () => {
    const world = await closed([type('defer')]);
    for (let n = 1; n <= 20; n++) await world.tell(a, soft(n));
    expect(await world.ask(a, soft(21))).toMatchObject({ error: { code: 'RATE_LIMIT_EXCEEDED' } });
    expect(await opened(world)).toHaveLength(20);
  });

  it('that drops the oldest sends it to the dead letters and replies to its sender', async () => {
    const world = await closed([type('dropOldest')]);
    const asked = world.ask(a, soft(1), { key: 'k' });
    for (let n = 2; n <= 4; n++) await world.tell(a, soft(n));
    expect(await asked).toMatchObject({ error: { code: 'RATE_LIMIT_EXCEEDED' } });
    const letters = await world.letters(2);
    expect(letters).toMatchObject([
      { reason: 'DROPPED_OLDEST', event: soft(1) },
      { reason: 'DROPPED_OLDEST', event: soft(2) },
    ]);
    expect(await opened(world)).toEqual(['soft:3', 'soft:4']);
    expect(await world.ask(a, soft(1), { key: 'k' })).toMatchObject({ kind: 'answered' });
  });

  it('has space again for as many messages as were processed, across restarts', async () => {
    const world = await closed([type('reject', 3)]);
    for (const event of [soft(1), { type: 'mild', n: 1 }, soft(2)]) await world.tell(a, event);
    await world.ask(a, { type: 'half' });
    expect(world.seen(a)).toContain('mild:1');
    await world.restart();
    await world.tell(a, soft(3));
    expect(await world.ask(a, soft(4))).toMatchObject({ error: { code: 'RATE_LIMIT_EXCEEDED' } });
    expect(await opened(world)).toEqual(['mild:1', 'soft:1', 'soft:2', 'soft:3']);
  });

  it('of one actor does not block another actor of its shard', async () => {
    const world = await openWorld({ shards: 1, actors: [type('reject')] });
    await world.ask(a, { type: 'close' });
    for (let n = 0; n < 50; n++) await world.tell(a, soft(n));
    expect(await world.ask(b, { type: 'do' })).toMatchObject({ kind: 'answered' });
  });
});

describe('a mailbox that coalesces', () => {
  it('replaces a waiting message of the same type, and stores the old one as a dead letter', async () => {
    const world = await closed([type('coalesce', 5)]);
    await world.tell(a, soft(1));
    await world.tell(a, { type: 'mild', n: 1 });
    await world.tell(a, soft(2));
    await world.tell(a, soft(3));
    expect(await world.letters(2)).toMatchObject([
      { reason: 'COALESCED', event: soft(1) },
      { reason: 'COALESCED', event: soft(2) },
    ]);
    await world.restart();
    expect(await opened(world)).toEqual(['soft:3', 'mild:1']);
  });

  it('replies to the sender of the replaced one', async () => {
    const world = await closed([type('coalesce')]);
    const first = world.ask(a, soft(1), { key: 'k' });
    const second = world.ask(a, soft(2));
    expect(await first).toMatchObject({ kind: 'refused', error: { code: 'CANCELLED' } });
    await world.ask(a, { type: 'open' });
    expect(await second).toMatchObject({ kind: 'answered' });
    expect(await world.ask(a, soft(1), { key: 'k' })).toEqual(await first);
  });

  it('refuses other types when it is full', async () => {
    const world = await closed([type('coalesce', 1)]);
    await world.tell(a, soft(1));
    expect(await world.ask(a, { type: 'mild' })).toMatchObject({
      error: { code: 'RATE_LIMIT_EXCEEDED' },
    });
  });
});

describe('a stashed message', () => {
  it('is refused when its actor ends, and a removed actor is created again', async () => {
    const world = await openWorld({ actors: [puppetType({ whenDone: 'forget' })] });
    await world.ask(a, { type: 'close' });
    const asked = world.ask(a, soft(1));
    await world.tell(a, soft(2));
    await world.tell(a, { type: 'end' });
    expect(await asked).toMatchObject({ kind: 'refused' });
    expect(await world.letters(1)).toMatchObject([{ event: soft(2) }]);
    await eventually(() => expect(world.system.inspect(a)).toBeUndefined());
    expect(await world.ask(a, { type: 'do', n: 3 })).toMatchObject({ result: ['do:3'] });
    await world.ask(a, { type: 'close' });
    await world.tell(a, soft(4));
    expect(await opened(world)).toEqual(['soft:4']);
  });

  it('is applied after many rounds of deferring and accepting', async () => {
    const world = await openWorld({ actors: [type('reject', 10)] });
    let n = 0;
    for (let round = 0; round < 20; round++) {
      const sent = [world.tell(a, { type: 'close' })];
      for (let i = 0; i < 10; i++) sent.push(world.tell(a, soft(n++)));
      sent.push(world.tell(a, { type: 'open' }));
      await Promise.all(sent);
    }
    await world.ask(a, { type: 'do' });
    const taken = world.seen(a).filter((label) => label.startsWith('soft'));
    expect(taken).toEqual(Array.from({ length: n }, (_, i) => `soft:${i}`));
  });
});
