/** Passivation: an idle actor is a stored row, uses no memory, and behaves the same. */
import { expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { address } from '../../../protocols/address.ts';
import { type Delivered, hostActions } from '../../../protocols/statechart.ts';
import { defineActor } from '../../../runtime/index.ts';
import { eventually } from '../eventually.ts';
import { puppetType } from './puppet.ts';
import { ShiftedClock } from './shifted-clock.ts';
import { openWorld, puppet, type World } from './world.ts';

const a = puppet('a');

/** Answers how many messages it has received; its state `dark` passivates. */
function lampType() {
  type Answered = { context: { count: number }; event: Delivered<{ type: 'on' | 'off' }> };
  const answer = {
    type: 'reply' as const,
    params: ({ context, event }: Answered) => ({ to: event.meta.reply, result: context.count }),
  };
  const machine = setup({
    types: { context: {} as Answered['context'], events: {} as Answered['event'] },
    actions: { ...hostActions, count: assign({ count: ({ context }) => context.count + 1 }) },
  }).createMachine({
    id: 'lamp',
    context: { count: 0 },
    initial: 'dark',
    states: {
      dark: {
        meta: { passivate: true },
        on: { on: { target: 'lit', actions: ['count', answer] } },
      },
      lit: { on: { off: { target: 'dark', actions: ['count', answer] } } },
    },
  });
  return defineActor({ type: 'lamp', version: 1, machine });
}

const residents = (world: World) =>
  world.system.status().reduce((sum, shard) => sum + shard.residents, 0);

it('an idle actor leaves memory and is activated with its state', async () => {
  const clock = new ShiftedClock();
  const world = await openWorld({ clock, actors: [puppetType({ idleMs: 30_000 })] });
  await world.ask(a, { type: 'do', n: 1, keeps: { deep: ['x'] } });
  await eventually(() => expect(residents(world)).toBe(1));
  clock.shift(40_000);
  await eventually(() => expect(residents(world)).toBe(0));
  expect(await world.ask(a, { type: 'do', n: 2 })).toMatchObject({ result: ['do:1', 'do:2'] });
  expect(world.known(a).keeps).toEqual({ deep: ['x'] });
});

it('an actor in use stays in memory', async () => {
  const clock = new ShiftedClock();
  const world = await openWorld({ clock, actors: [puppetType({ idleMs: 30_000 })], shards: 1 });
  await world.ask(a, { type: 'do' });
  await world.ask(puppet('b'), { type: 'do' });
  await eventually(() => expect(residents(world)).toBe(2));
  clock.shift(20_000);
  await world.ask(a, { type: 'do' });
  clock.shift(15_000);
  await eventually(() => expect(residents(world)).toBe(1));
});

it('an actor with a long idle time does not keep others in memory', async () => {
  const clock = new ShiftedClock();
  const actors = [puppetType({ idleMs: 86_400_000 }), puppetType({ type: 'brief', idleMs: 1_000 })];
  const world = await openWorld({ clock, actors, shards: 1 });
  await world.ask(a, { type: 'do' });
  await world.ask(address('t', 'brief', 'b'), { type: 'do' });
  await eventually(() => expect(residents(world)).toBe(2));
  clock.shift(20_000);
  await eventually(() => expect(residents(world)).toBe(1));
});

it('stashed messages, timers and suspension survive passivation', async () => {
  const clock = new ShiftedClock();
  const options = { clock, actors: [puppetType({ idleMs: 1_000 })], shards: 1 };
  const world = await openWorld({ ...options, supervisor: puppet('absent') });
  const [waits, armed, hurt] = ['w', 'a', 'h'].map(puppet);
  await world.ask(waits!, { type: 'close' });
  await world.tell(waits!, { type: 'soft', n: 1 });
  await world.ask(armed!, { type: 'arm', ms: 600_000 });
  await world.ask(hurt!, { type: 'do', throws: 'assign' });
  await world.tell(hurt!, { type: 'do', n: 2 });
  await eventually(() => expect(residents(world)).toBe(3));
  clock.shift(20_000);
  await eventually(() => expect(residents(world)).toBe(0));
  await world.ask(waits!, { type: 'open' });
  await eventually(() => expect(world.seen(waits!)).toEqual(['close', 'open', 'soft:1']));
  await world.order(hurt!, 'sys.resume');
  await eventually(() => expect(world.seen(hurt!)).toEqual(['do:2']));
  clock.shift(600_000);
  await eventually(() => expect(world.seen(armed!)).toEqual(['arm', 'fired']));
});

it('an actor leaves memory with the turn that ends in a passivating state, and continues from its row', async () => {
  const world = await openWorld({ actors: [lampType()], shards: 1 });
  const lamp = address('t', 'lamp', 'l');
  const ask = async (type: string) =>
    ((await world.ask(lamp, { type })) as { result: unknown }).result;
  const eventuallyResidents = (count: number) =>
    eventually(() => expect(residents(world)).toBe(count));
  expect(await ask('on')).toBe(1);
  await eventuallyResidents(1);
  expect(await ask('off')).toBe(2);
  await eventuallyResidents(0);
  expect(await ask('on')).toBe(3);
  await eventuallyResidents(1);
});

it('at most residentsMax actors are in memory, and all actors answer', async () => {
  const world = await openWorld({ shards: 1, limits: { residentsMax: 5 } });
  const all = Array.from({ length: 40 }, (_, n) => puppet(`p${n}`));
  for (let round = 0; round < 3; round++) {
    await Promise.all(all.map((actor) => world.ask(actor, { type: 'do', n: round })));
    expect(residents(world)).toBeLessThanOrEqual(5);
  }
  for (const actor of all) expect(world.seen(actor)).toEqual(['do:0', 'do:1', 'do:2']);
});

it('an actor with a limit of one resident can tell, ask and wait like any other', async () => {
  const world = await openWorld({ shards: 1, limits: { residentsMax: 1 } });
  const b = puppet('b');
  await world.ask(b, { type: 'close' });
  const event = { type: 'soft', n: 1 };
  await world.ask(a, {
    type: 'do',
    tells: [
      { to: b, event, ask: true },
      { to: a, event },
    ],
  });
  await world.ask(b, { type: 'open' });
  await eventually(() => expect(world.known(a).received).toMatchObject([{ type: 'reply' }]));
  expect(world.seen(a)).toEqual(['do', 'soft:1']);
});
