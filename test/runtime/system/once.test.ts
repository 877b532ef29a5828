/**
 * Effects of class `once`: they start only after their Start is committed, and never twice without
 * a decision (G).
 */
import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { Stage } from './stage.ts';
import { openWorld, puppet, type World } from './world.ts';

const a = puppet('a');
/** The events that the puppet received, as soon as there are `count`. */
const received = (world: World, count: number) =>
  eventually(() => {
    const all = world.known(a).received;
    if (all.length < count) throw new Error(`${all.length} events received, not ${count}`);
    return all;
  });

/** An effect that was running when the system stopped; its outcome is lost. */
async function lost(cls: 'once' | 'asking', answer?: Stage['answer']) {
  const stage = new Stage();
  if (answer) stage.answer = answer;
  const world = await openWorld({ services: stage });
  await world.tell(a, { type: 'work', cls, input: { n: 7 } });
  await stage.began(1);
  await world.restart();
  return { world, stage };
}
const unknown = (world: World) =>
  eventually(() => {
    const [effect] = world.system.unknownEffects();
    if (!effect) throw new Error('no effect is unknown');
    return effect;
  });

describe('an effect whose outcome is lost, without a reconcile hook,', () => {
  it('is unknown until an operator decides, and an operator is notified', async () => {
    const { world, stage } = await lost('once');
    expect(await unknown(world)).toMatchObject({
      actor: a,
      effect: 'once',
      attempt: 1,
      input: { n: 7 },
    });
    await eventually(() => expect(world.alarms.join()).toContain('unknown'));
    await world.restart();
    await unknown(world);
    expect(stage.runs).toHaveLength(1);
    expect(world.known(a).received).toEqual([]);
  });

  it('runs again, as the next attempt under the same id, when an operator decides so', async () => {
    const { world, stage } = await lost('once');
    const { id } = await unknown(world);
    expect(await world.system.decide(id, { kind: 'again' })).toEqual({ kind: 'accepted', id });
    const again = await stage.began(2);
    expect(again.context).toMatchObject({ attempt: 2, id: stage.runs[0]!.context.id });
    again.done('second');
    expect(await received(world, 1)).toMatchObject([{ output: 'second' }]);
    expect(world.system.unknownEffects()).toEqual([]);
  });

  it.each([
    [
      { kind: 'done' as const, output: 5 },
      { type: 'done', output: 5 },
    ],
    [
      { kind: 'failed' as const, error: { code: 'CANCELLED' as const, message: 'it did not' } },
      { type: 'failed', error: { code: 'CANCELLED', message: 'it did not' } },
    ],
  ])('has the outcome that an operator states: %j', async (decision, notice) => {
    const { world, stage } = await lost('once');
    const { id } = await unknown(world);
    await world.system.decide(id, decision);
    expect(await received(world, 1)).toMatchObject([notice]);
    expect(stage.runs).toHaveLength(1);
    expect(await world.system.decide(id, { kind: 'again' })).toMatchObject({
      kind: 'refused',
      error: { code: 'NOT_FOUND' },
    });
  });

  it.each([undefined, { kind: 'maybe' }, { kind: 'failed' }])(
    'stays unknown after %j, which is no decision',
    async (decision) => {
      const { world } = await lost('once');
      const { id } = await unknown(world);
      const answer = await world.system.decide(id, decision as never);
      expect(answer).toMatchObject({ kind: 'refused', error: { code: 'INVALID_ARGUMENT' } });
      expect((await unknown(world)).id).toBe(id);
    },
  );

  it('that is decided twice runs once more, not twice', async () => {
    const { world, stage } = await lost('once');
    const { id } = await unknown(world);
    await Promise.all([1, 2, 3].map(() => world.system.decide(id, { kind: 'again' })));
    (await stage.began(2)).done('second');
    expect(await received(world, 1)).toMatchObject([{ output: 'second' }]);
    await world.ask(a, { type: 'do' });
    expect(stage.runs).toHaveLength(2);
  });

  it('is removed when its state is left', async () => {
    const { world } = await lost('once');
    await unknown(world);
    await world.ask(a, { type: 'open' });
    expect(world.system.unknownEffects()).toEqual([]);
  });

  it('that is lost in its second attempt is unknown again', async () => {
    const { world, stage } = await lost('once');
    await world.system.decide((await unknown(world)).id, { kind: 'again' });
    await stage.began(2);
    await world.restart();
    expect(await unknown(world)).toMatchObject({ attempt: 2 });
    expect(stage.runs).toHaveLength(2);
  });
});

describe('a reconcile hook', () => {
  it('that returns the outcome settles the effect', async () => {
    const { world, stage } = await lost('asking', () => ({ outcome: 'it happened' }));
    expect(await received(world, 1)).toMatchObject([{ type: 'done', output: 'it happened' }]);
    expect(stage.runs).toHaveLength(1);
    expect(stage.reconciled[0]).toMatchObject({ attempt: 1, id: stage.runs[0]!.context.id });
  });

  it('that says again makes it run as the next attempt', async () => {
    const { world, stage } = await lost('asking', () => 'again');
    const again = await stage.began(2);
    expect(again.context.attempt).toBe(2);
    again.done('second');
    expect(await received(world, 1)).toMatchObject([{ output: 'second' }]);
  });

  it('that returns `ask` leaves it to an operator, and is called again after the next start', async () => {
    const { world, stage } = await lost('asking', () => 'ask');
    await eventually(() => expect(stage.reconciled).toHaveLength(1));
    await unknown(world);
    stage.answer = () => ({ outcome: 'now I know' });
    await world.restart();
    expect(await received(world, 1)).toMatchObject([{ output: 'now I know' }]);
  });

  it('that throws leaves it to an operator, who is notified', async () => {
    const { world } = await lost('asking', () => {
      throw new Error('the other side is away');
    });
    await eventually(() => expect(world.alarms.join()).toContain('the other side is away'));
    await world.system.decide((await unknown(world)).id, { kind: 'done', output: 1 });
    expect(await received(world, 1)).toMatchObject([{ output: 1 }]);
  });

  it('whose outcome cannot be stored leaves it to an operator, who is notified', async () => {
    const { world } = await lost('asking', () => ({ outcome: new Map([[{}, 1]]) }));
    await eventually(() => expect(world.alarms.join()).toContain('cannot be stored'));
    await unknown(world);
  });
});

it('a decision that cannot be stored is refused', async () => {
  const { world } = await lost('once');
  const { id } = await unknown(world);
  const output = new Map([[{}, 1]]);
  expect(await world.system.decide(id, { kind: 'done', output })).toMatchObject({
    error: { code: 'INVALID_ARGUMENT' },
  });
  await world.system.decide(id, { kind: 'done', output: 1 });
  expect(await received(world, 1)).toMatchObject([{ output: 1 }]);
});

it('an effect that a stop prevented from starting is not unknown: it runs after the next start', async () => {
  const stage = new Stage();
  const world = await openWorld({ services: stage, shards: 1 });
  const actors = Array.from({ length: 30 }, (_, n) => puppet(`p${n}`));
  await Promise.all(actors.map((actor) => world.tell(actor, { type: 'work', cls: 'once' })));
  const began = () => stage.runs.length;
  await world.restart();
  const before = world.system.unknownEffects().length;
  expect(before).toBeLessThanOrEqual(began());
  await eventually(() => {
    expect(world.system.unknownEffects()).toHaveLength(before);
    expect(began()).toBe(30);
  });
});
