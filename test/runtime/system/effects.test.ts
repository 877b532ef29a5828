/**
 * Effects: how often they run, and how their outcome is delivered (docs/semantics.md, "Effects").
 */
import { describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { type Address, address } from '../../../protocols/address.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { effect, type Message } from '../../../protocols/statechart.ts';
import { defineActor, type EffectContext } from '../../../runtime/index.ts';
import { OUTCOME_BYTES_MAX } from '../../../runtime/effects/runner.ts';
import { eventually } from '../eventually.ts';
import { ODD, oddOf } from './odd.ts';
import { Stage } from './stage.ts';
import { puppetType } from './puppet.ts';
import { openWorld, puppet, type World } from './world.ts';

const a = puppet('a');
/** The events that the puppet has received, as soon as there are `count`. */
const received = (world: World, count: number) =>
  eventually(() => {
    const all = world.known(a).received;
    if (all.length < count) throw new Error(`${all.length} events received, not ${count}`);
    return all;
  });
const work = (cls: string, n = 1) => ({ type: 'work', cls, n, input: { n } });

async function working(cls: string): Promise<{ world: World; stage: Stage }> {
  const stage = new Stage();
  const world = await openWorld({ services: stage });
  await world.tell(a, work(cls));
  await stage.began(1);
  return { world, stage };
}

describe.each(['repeatable', 'keyed', 'once'])('an effect that is %s', (cls) => {
  it('receives its input, and its result is delivered as an event, once', async () => {
    const { world, stage } = await working(cls);
    const [run] = stage.runs;
    expect(run).toMatchObject({ input: { n: 1 }, context: { attempt: 1, actor: a } });
    run!.done({ sum: 3 });
    expect(await received(world, 1)).toMatchObject([{ type: 'done', output: { sum: 3 } }]);
    await world.restart();
    await world.ask(a, { type: 'do' });
    expect(stage.runs).toHaveLength(1);
    expect(world.known(a).received).toHaveLength(1);
  });

  it('that throws is delivered as an error with its code', async () => {
    const { world, stage } = await working(cls);
    stage.runs[0]!.failed(new TroupeError('FORBIDDEN', 'not you', { details: { who: 'you' } }));
    const error = { code: 'FORBIDDEN', message: 'not you', details: { who: 'you' } };
    expect(await received(world, 1)).toMatchObject([{ type: 'failed', error }]);
    await world.tell(a, work(cls, 2));
    (await stage.began(2)).failed(new Error('broken'));
    expect(await received(world, 2)).toMatchObject([
      { error },
      { error: { code: 'INTERNAL', message: 'broken' } },
    ]);
  });

  it('is aborted when its state is left, and its late outcome changes nothing', async () => {
    const { world, stage } = await working(cls);
    const [run] = stage.runs;
    await world.ask(a, { type: 'open' });
    await eventually(() => expect(run!.context.signal.aborted).toBe(true));
    run!.done('late');
    await world.ask(a, { type: 'do' });
    expect(world.known(a).received).toEqual([]);
    expect(world.system.unknownEffects()).toEqual([]);
    await world.tell(a, work(cls, 2));
    (await stage.began(2)).done('in time');
    expect(await received(world, 1)).toMatchObject([{ output: 'in time' }]);
  });

  it('that an operator cancels is aborted, and its actor receives a failure with the reason', async () => {
    const { world, stage } = await working(cls);
    const [intent] = (await world.system.actors.get(a))!.effects;
    expect(await world.system.cancelEffect(intent!.id, 'it hangs')).toMatchObject({
      kind: 'accepted',
    });
    const error = { code: 'CANCELLED', message: expect.stringContaining('it hangs') };
    expect(await received(world, 1)).toMatchObject([{ type: 'failed', error }]);
    await eventually(() => expect(stage.runs[0]!.context.signal.aborted).toBe(true));
    stage.runs[0]!.done('late');
    await world.ask(a, { type: 'do' });
    expect(world.known(a).received).toHaveLength(1);
    expect(await world.system.cancelEffect(intent!.id, 'twice')).toMatchObject({
      kind: 'refused',
      error: { code: 'NOT_FOUND' },
    });
  });

  it('that ends while its actor is paused is delivered when the actor is resumed', async () => {
    const { world, stage } = await working(cls);
    await world.order(a, 'sys.pause');
    await world.restart();
    expect((await world.system.actors.get(a))!.status).toBe('paused');
    if (cls === 'once') {
      const [unknown] = await eventually(() => {
        const found = world.system.unknownEffects();
        if (found.length === 0) throw new Error('its outcome is not unknown yet');
        return found;
      });
      await world.system.decide(unknown!.id, { kind: 'done', output: 'kept' });
    } else (await stage.began(2)).done('kept');
    await eventually(async () => {
      expect((await world.system.actors.get(a))!.effects).toEqual([]);
    });
    expect(world.known(a).received).toEqual([]);
    await world.order(a, 'sys.resume');
    expect(await received(world, 1)).toMatchObject([{ type: 'done', output: 'kept' }]);
  });

  it('is aborted when its actor is stopped by a directive', async () => {
    const { world, stage } = await working(cls);
    await world.order(a, 'sys.stop');
    await eventually(() => expect(stage.runs[0]!.context.signal.aborted).toBe(true));
    await world.restart();
    expect(stage.runs).toHaveLength(1);
    expect(world.system.unknownEffects()).toEqual([]);
  });

  it('that settles after its actor was recreated does not settle an effect of the new one', async () => {
    const { world, stage } = await working(cls);
    await world.order(a, 'sys.restart');
    await world.tell(a, work(cls, 2));
    const second = await stage.began(2);
    stage.runs[0]!.done('of the old life');
    second.done('of the new life');
    expect(await received(world, 1)).toMatchObject([{ output: 'of the new life' }]);
  });
});

describe.each(['repeatable', 'keyed'])('after a restart an effect that is %s', (cls) => {
  it('runs again under the same id', async () => {
    const { world, stage } = await working(cls);
    await world.restart();
    const again = await stage.began(2);
    expect(again.context.id).toBe(stage.runs[0]!.context.id);
    expect(again.input).toEqual({ n: 1 });
    expect(stage.runs[0]!.context.signal.aborted).toBe(true);
    again.done('again');
    expect(await received(world, 1)).toMatchObject([{ output: 'again' }]);
  });
});

describe('a result', () => {
  it('that is too large is a failure that names the limit', async () => {
    const { world, stage } = await working('repeatable');
    stage.runs[0]!.done('x'.repeat(OUTCOME_BYTES_MAX));
    const message = expect.stringContaining(String(OUTCOME_BYTES_MAX));
    expect(await received(world, 1)).toMatchObject([
      { type: 'failed', error: { code: 'PAYLOAD_TOO_LARGE', message } },
    ]);
  });

  it.each(ODD)('that cannot be stored is a failure: %s', async (what) => {
    const { world, stage } = await working('repeatable');
    stage.runs[0]!.done(oddOf(what));
    expect(await received(world, 1)).toMatchObject([
      { type: 'failed', error: { code: 'INTERNAL' } },
    ]);
    expect(await world.system.deadLetters.list()).toEqual([]);
  });

  it.each(ODD)(
    'that is an error with details that cannot be stored is delivered without them: %s',
    async (what) => {
      const { world, stage } = await working('repeatable');
      const details = { what: oddOf(what) };
      stage.runs[0]!.failed(new TroupeError('NOT_FOUND', 'nothing there', { details }));
      expect(await received(world, 1)).toMatchObject([
        { type: 'failed', error: { code: 'NOT_FOUND', message: 'nothing there' } },
      ]);
    },
  );

  it('that is an error of unbounded length is truncated', async () => {
    const { world, stage } = await working('repeatable');
    stage.runs[0]!.failed(new TroupeError('NOT_FOUND', 'x'.repeat(2 * OUTCOME_BYTES_MAX)));
    expect(await received(world, 1)).toMatchObject([
      { type: 'failed', error: { code: 'NOT_FOUND' } },
    ]);
  });
});

it('an effect that takes too long is aborted and fails with DEADLINE_EXCEEDED', async () => {
  const { world, stage } = await working('limited');
  expect(await received(world, 1)).toMatchObject([
    { type: 'failed', error: { code: 'DEADLINE_EXCEEDED' } },
  ]);
  expect(stage.runs[0]!.context.signal.aborted).toBe(true);
});

/** In rounds, because more messages at once than may wait for a shard are refused. */
async function tellAll(world: World, actors: readonly Address[], event: Message): Promise<void> {
  for (let from = 0; from < actors.length; from += 1_000) {
    const round = actors.slice(from, from + 1_000);
    await Promise.all(round.map((actor) => world.tell(actor, event)));
  }
}

it('at most 2,048 effects run at once in a process, and the others wait', {
  timeout: 60_000,
}, async () => {
  const stage = new Stage();
  const world = await openWorld({ services: stage, shards: 1 });
  const all = Array.from({ length: 2_054 }, (_, n) => puppet(`p${n}`));
  await tellAll(world, all, work('repeatable'));
  await stage.began(2_048);
  for (const actor of all) {
    await eventually(() => expect(world.system.inspect(actor)?.value).toBe('repeatable'));
  }
  expect(stage.runs).toHaveLength(2_048);
  for (let n = 0; n < 6; n++) stage.runs[n]!.done(n);
  await stage.began(2_054);
  const waiting = all.filter((actor) => world.system.inspect(actor)?.value === 'repeatable');
  for (const actor of waiting) expect(world.known(actor).received).toEqual([]);
  for (const run of stage.runs) run.done('all');
  await eventually(() => {
    for (const actor of all) expect(world.known(actor).received).toHaveLength(1);
  });
});

it('effects that take no slot begin at once, and leave the slots to others', {
  timeout: 60_000,
}, async () => {
  const stage = new Stage();
  const machine = setup({ actors: { wait: effect() } }).createMachine({
    id: 'line',
    initial: 'free',
    states: { free: { on: { open: 'open' } }, open: { invoke: { src: 'wait' } } },
  });
  const lines = new Stage();
  const wait = {
    class: 'repeatable',
    takesSlot: false,
    run: (input: unknown, context: EffectContext) => lines.run(input, context),
  } as const;
  const line = defineActor({ type: 'line', version: 1, machine, effects: { wait } });
  const world = await openWorld({ services: stage, shards: 1, actors: [puppetType(), line] });
  const all = Array.from({ length: 2_054 }, (_, n) => address('t', 'line', `l${n}`));
  await tellAll(world, all, { type: 'open' });
  await lines.began(2_054);
  await world.tell(a, work('repeatable'));
  (await stage.began(1)).done('well');
  expect(await received(world, 1)).toMatchObject([{ type: 'done', output: 'well' }]);
});

it('an effect sees services, the transcript of its actor and the index', async () => {
  const { world, stage } = await working('repeatable');
  const appends = [{ type: 'entry', n: 1 }];
  const projects = { index: 'things', key: 'k', value: { n: 2 } };
  await world.ask(a, { type: 'do', appends, projects });
  const { context } = stage.runs[0]!;
  expect(context.services).toBe(stage);
  expect(await context.transcript().read()).toMatchObject([{ entry: appends[0] }]);
  expect((await context.index()).get('things', 't', 'k')).toEqual({ n: 2 });
  const published: unknown[] = [];
  world.system.bus.subscribe('topic.x', ({ payload }) => published.push(payload));
  // A subscription is active on other nodes a moment later.
  await eventually(() => {
    context.publish('topic.x', { type: 'delta', n: 3 });
    expect(published[0]).toEqual({ type: 'delta', n: 3 });
  });
});
