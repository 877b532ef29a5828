/** Timers: they fire once, never early, and survive the end of their process. */
import { assign, setup } from 'xstate';
import { describe, expect, it } from 'vitest';
import { type Address, address } from '../../../protocols/address.ts';
import { type ActorInput, type Delivered, hostActions } from '../../../protocols/statechart.ts';
import { defineActor } from '../../../runtime/index.ts';
import { eventually } from '../eventually.ts';
import { puppetType } from './puppet.ts';
import { ShiftedClock } from './shifted-clock.ts';
import { operator, openWorld, puppet, type World } from './world.ts';

const a = puppet('a');
const b = puppet('b');
const MINUTE = 60_000;

async function fired(world: World, actor = a): Promise<void> {
  await eventually(() => expect(world.seen(actor)).toContain('fired'));
  const { armedAt, firedAt, ms } = world.known(actor);
  expect(firedAt).toBeGreaterThanOrEqual(armedAt + ms);
}
const count = (world: World, actor = a) =>
  world.seen(actor).filter((label) => label === 'fired').length;

/** An actor with a timer in its first state, armed before its first message is applied. */
const armedAtStart = defineActor({
  type: 'alarm',
  version: 1,
  machine: setup({
    types: {
      context: {} as { bad: number },
      events: {} as Delivered<{ type: 'odd' | 'later' }>,
      input: {} as ActorInput,
    },
    actions: {
      ...hostActions,
      fail: assign({
        bad: () => {
          throw new Error('asked to throw');
        },
      }),
    },
    delays: { soon: 20 },
  }).createMachine({
    id: 'alarm',
    context: { bad: 0 },
    initial: 'ticking',
    states: {
      ticking: {
        meta: { defer: ['later'] },
        on: { odd: { actions: 'fail' } },
        after: { soon: 'rang' },
      },
      rang: {},
    },
  }),
});

it('the first turn of a new shard has the correct time, and so has the first after a long pause', async () => {
  const clock = new ShiftedClock();
  const world = await openWorld({ clock });
  const askTime = async () => {
    await world.ask(a, { type: 'do' });
    return Math.abs(world.known(a).armedAt - clock.wallMs());
  };
  expect(await askTime()).toBeLessThan(MINUTE);
  await world.stop();
  clock.shift(30 * MINUTE);
  await world.start();
  expect(await askTime()).toBeLessThan(MINUTE);
});

describe('a timer', () => {
  it('fires once and never early', async () => {
    const world = await openWorld();
    await world.ask(a, { type: 'arm', ms: 30 });
    await fired(world);
    await world.restart();
    await world.ask(a, { type: 'arm', n: 'again', ms: 1 });
    await eventually(() => expect(count(world)).toBe(2));
  });

  it('waits while timers of its actor are held, and does not delay others', async () => {
    let isHeld = true;
    const holdsTimersOf = (actor: Address) => isHeld && actor === a;
    const world = await openWorld({ holdsTimersOf, shards: 1 });
    await world.ask(a, { type: 'arm', ms: 1 });
    await world.ask(b, { type: 'arm', ms: 2 });
    await fired(world, b);
    await world.restart({ holdsTimersOf });
    await world.ask(b, { type: 'arm', n: 'again', ms: 1 });
    await eventually(() => expect(count(world, b)).toBe(2));
    expect(count(world)).toBe(0);
    isHeld = false;
    await fired(world);
    expect(count(world)).toBe(1);
  });

  it('survives a restart', async () => {
    const clock = new ShiftedClock();
    const world = await openWorld({ clock });
    await world.ask(a, { type: 'arm', ms: MINUTE });
    await world.restart();
    expect(count(world)).toBe(0);
    clock.shift(MINUTE);
    await fired(world);
  });

  it.each([
    ['an hour', 60 * MINUTE],
    ['days, which is beyond what is loaded', 2 * 24 * 60 * MINUTE],
  ])('of %s fires within 15 s of a wall clock that jumped past it', async (_, ms) => {
    const clock = new ShiftedClock();
    const world = await openWorld({ clock });
    await world.ask(a, { type: 'arm', ms });
    clock.jump(ms + MINUTE);
    clock.shift(15_000);
    await fired(world);
    expect(count(world)).toBe(1);
  });

  it('does not fire early when the wall clock jumped to just before it', async () => {
    const clock = new ShiftedClock();
    const world = await openWorld({ clock, shards: 1 });
    await world.ask(a, { type: 'arm', ms: 60 * MINUTE });
    await world.ask(b, { type: 'arm', ms: 50 * MINUTE });
    clock.jump(55 * MINUTE);
    clock.shift(15_000);
    await fired(world, b);
    expect(count(world)).toBe(0);
    clock.shift(5 * MINUTE);
    await fired(world);
  });

  it('that limits work does not count the time during which the machine is suspended', async () => {
    const clock = new ShiftedClock();
    const actors = [puppetType({ workTimers: ['delay'] })];
    const world = await openWorld({ clock, actors, shards: 1 });
    await world.ask(a, { type: 'arm', ms: 10 * MINUTE });
    clock.jump(60 * MINUTE);
    await world.ask(b, { type: 'do' });
    clock.shift(4 * MINUTE);
    await world.ask(b, { type: 'do' });
    clock.jump(5 * MINUTE);
    await world.ask(b, { type: 'do' });
    clock.shift(5 * MINUTE);
    await world.ask(b, { type: 'do' });
    expect(count(world)).toBe(0);
    clock.shift(MINUTE);
    await fired(world);
    expect(count(world)).toBe(1);
  });

  it('that limits work is cancelled also after it was postponed', async () => {
    const clock = new ShiftedClock();
    const actors = [puppetType({ workTimers: ['delay'] })];
    const world = await openWorld({ clock, actors, shards: 1 });
    await world.ask(a, { type: 'arm', ms: 10 * MINUTE });
    clock.jump(60 * MINUTE);
    clock.shift(15_000);
    await eventually(async () => {
      await world.ask(b, { type: 'do' });
      expect(world.known(b).seen.length).toBeGreaterThan(1);
    });
    await world.ask(a, { type: 'open' });
    await world.ask(b, { type: 'arm', ms: 15 * MINUTE });
    clock.shift(15 * MINUTE);
    await fired(world, b);
    expect(count(world)).toBe(0);
  });

  it('that became due during downtime fires late', async () => {
    const clock = new ShiftedClock();
    const world = await openWorld({ clock });
    await world.ask(a, { type: 'arm', ms: 10 * MINUTE });
    await world.stop();
    clock.shift(11 * MINUTE);
    await world.start();
    await fired(world);
    expect(count(world)).toBe(1);
  });

  it('that became due during downtime is skipped if the type says so; later ones fire', async () => {
    const clock = new ShiftedClock();
    const actors = [puppetType({ missedTimers: { delay: 'skip' } })];
    const world = await openWorld({ clock, actors, shards: 1 });
    await world.ask(a, { type: 'arm', ms: 10 * MINUTE });
    await world.ask(b, { type: 'arm', ms: 20 * MINUTE });
    await world.stop();
    clock.shift(15 * MINUTE);
    await world.start();
    clock.shift(10 * MINUTE);
    await fired(world, b);
    expect(count(world)).toBe(0);
    expect(world.system.inspect(a)?.value).toBe('armed');
    await world.restart();
    expect(await world.ask(a, { type: 'do', n: 1 })).toMatchObject({ kind: 'answered' });
    await world.ask(a, { type: 'arm', ms: 1 });
    await fired(world);
  });

  it('that is due in days is only a row until that day', async () => {
    const clock = new ShiftedClock();
    const world = await openWorld({ clock });
    await world.ask(a, { type: 'arm', ms: 3 * 24 * 60 * MINUTE });
    clock.shift(2 * 24 * 60 * MINUTE);
    await world.ask(b, { type: 'do' });
    expect(count(world)).toBe(0);
    clock.shift(24 * 60 * MINUTE);
    await fired(world);
  });

  it('that is cancelled never fires', async () => {
    const clock = new ShiftedClock();
    const world = await openWorld({ clock, shards: 1 });
    await world.ask(a, { type: 'arm', ms: MINUTE });
    await world.ask(a, { type: 'open' });
    await world.ask(b, { type: 'arm', ms: 2 * MINUTE });
    clock.shift(3 * MINUTE);
    await fired(world, b);
    expect(count(world)).toBe(0);
    await world.restart();
    await world.ask(a, { type: 'do' });
    expect(count(world)).toBe(0);
  });

  it('that is armed again fires for the newer time only', async () => {
    const clock = new ShiftedClock();
    const world = await openWorld({ clock, shards: 1 });
    await world.ask(a, { type: 'arm', ms: 5 * MINUTE });
    await world.ask(a, { type: 'arm', ms: 15 * MINUTE });
    await world.ask(b, { type: 'arm', ms: 10 * MINUTE });
    clock.shift(11 * MINUTE);
    await fired(world, b);
    await world.ask(b, { type: 'do' });
    expect(count(world)).toBe(0);
    clock.shift(5 * MINUTE);
    await fired(world);
    expect(count(world)).toBe(1);
  });

  it('waits while its actor is suspended, and fires after it was resumed', async () => {
    const clock = new ShiftedClock();
    const world = await openWorld({ clock, supervisor: puppet('absent'), shards: 1 });
    await world.ask(a, { type: 'arm', ms: MINUTE });
    await world.ask(a, { type: 'do', throws: 'assign' });
    expect(world.statusOf(a)).toBe('suspended');
    await world.ask(b, { type: 'arm', ms: 2 * MINUTE });
    clock.shift(3 * MINUTE);
    await fired(world, b);
    expect(count(world)).toBe(0);
    await world.order(a, 'sys.resume');
    await fired(world);
  });

  it('of an earlier life does not fire after a restart of its actor', async () => {
    const world = await openWorld({ supervisor: puppet('absent') });
    await world.ask(a, { type: 'arm', n: 1, ms: 20 });
    await world.ask(a, { type: 'do', throws: 'assign' });
    const due = world.known(a).armedAt + 20;
    await eventually(() => expect(Date.now()).toBeGreaterThan(due + 20));
    await world.order(a, 'sys.restart');
    await world.ask(a, { type: 'arm', n: 2, ms: 60_000 });
    expect(count(world)).toBe(0);
    expect(world.system.inspect(a)?.value).toBe('armed');
  });
});

it('10,000 timers that are due at the same moments fire once each', {
  timeout: 60_000,
}, async () => {
  const clock = new ShiftedClock();
  const actors = [puppetType({ idleMs: 0 })];
  const world = await openWorld({ clock, actors, shards: 2 });
  const keys = Array.from({ length: 10_000 }, (_, n) => puppet(`t${n}`));
  for (let n = 0; n < keys.length; n += 500) {
    const some = keys.slice(n, n + 500);
    await Promise.all(some.map((key) => world.tell(key, { type: 'arm', ms: 10 * MINUTE })));
  }
  await eventually(() => expect(world.seen(keys.at(-1)!)).toEqual(['arm']));
  await world.restart();
  clock.shift(11 * MINUTE);
  await eventually(() => {
    for (const key of keys) expect(world.seen(key)).toEqual(['arm', 'fired']);
  });
});

describe('an actor that is armed from its first state on', () => {
  const alarm = address('t', 'alarm', 'a');
  const state = (world: World) => world.system.inspect(alarm)?.value;

  it.each(['odd', 'later', 'unknown'])(
    'is armed also when its first message, %s, is not applied',
    async (type) => {
      const world = await openWorld({ actors: [armedAtStart] });
      await world.tell(alarm, { type });
      await eventually(() => expect(state(world)).toBe('rang'));
    },
  );

  it('refuses a first message that it does not accept', async () => {
    const world = await openWorld({ actors: [armedAtStart] });
    expect(await world.ask(alarm, { type: 'unknown' })).toMatchObject({
      error: { code: 'CONFLICT' },
    });
    await eventually(() => expect(state(world)).toBe('rang'));
  });

  it('fires its timer after its first message suspended it and it was resumed', async () => {
    const world = await openWorld({ actors: [armedAtStart, puppetType()], supervisor: a });
    await world.ask(alarm, { type: 'odd' });
    await world.ask(alarm, { type: 'sys.resume' }, { principal: operator });
    await eventually(() => expect(state(world)).toBe('rang'));
  });
});
