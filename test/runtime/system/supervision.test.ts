/** Turns that throw, supervisors and their directives (docs/semantics.md, "Turns"). */
import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { bossType, puppetType } from './puppet.ts';
import { Stage } from './stage.ts';
import { boss, openWorld, operator, puppet, type World } from './world.ts';

const a = puppet('a');
const b = puppet('b');
const contextOf = (world: World) =>
  world.system.inspect(boss)?.context as { received: object[] } | undefined;

/** The boss creates `a`; `policy` is its answer to every crash. */
async function createChild(world: World, policy?: string): Promise<void> {
  await world.tell(boss, { type: 'create', child: a, ...(policy ? { policy } : {}) });
  await eventually(() => expect(world.seen(a)).toEqual(['notify:created']));
}
const order = (world: World, directive: string) =>
  world.tell(boss, { type: 'order', child: a, directive });

describe('a turn that throws', () => {
  it.each(['assign', 'params', 'guard'] as const)(
    'in %s is rolled back, stored as a dead letter, and reported to its sender',
    async (throws) => {
      const world = await openWorld();
      await world.ask(a, { type: 'do', n: 1 });
      const tells = [{ to: b, event: { type: 'do', n: 9 } }];
      const bad = { type: 'do', n: 2, keeps: 'half', tells, throws };
      expect(await world.ask(a, bad)).toMatchObject({
        kind: 'refused',
        error: { code: 'INTERNAL', message: expect.stringContaining('asked to throw') },
      });
      expect(await world.ask(a, { type: 'do', n: 3 })).toMatchObject({ kind: 'answered' });
      expect(world.seen(a)).toEqual(['do:1', 'do:3']);
      expect(world.known(a).keeps).toBeNull();
      expect(world.system.inspect(b)).toBeUndefined();
      expect(await world.letters(1)).toMatchObject([
        { to: a, reason: 'CRASHED', event: bad, error: { code: 'INTERNAL' } },
      ]);
    },
  );

  it('notifies the actor that sent the message', async () => {
    const world = await openWorld();
    const event = { type: 'do', throws: 'assign' };
    await world.ask(b, {
      type: 'do',
      tells: [
        { to: a, event },
        { to: a, event, ask: true },
      ],
    });
    await eventually(() =>
      expect(world.known(b).received).toMatchObject([
        { type: 'refused', message: 'do', error: { code: 'INTERNAL' } },
        { type: 'reply', error: { code: 'INTERNAL' } },
      ]),
    );
  });

  it('as the first one of its actor leaves an actor in its first state, with the timers and effects of that state', async () => {
    const world = await openWorld();
    await world.ask(a, { type: 'do', throws: 'assign' });
    expect(world.statusOf(a)).toBe('active');
    expect(await world.ask(a, { type: 'do', n: 1 })).toMatchObject({ result: ['do:1'] });
  });

  it('quarantines an actor without a supervisor at the third crash within a minute', async () => {
    const world = await openWorld();
    for (let crash = 1; crash <= 3; crash++) {
      expect(world.statusOf(a)).toBe(crash === 1 ? undefined : 'active');
      await world.ask(a, { type: 'do', throws: 'assign' });
    }
    expect(world.statusOf(a)).toBe('quarantined');
    expect(await world.ask(a, { type: 'do', n: 1 })).toMatchObject({
      error: { code: 'UNAVAILABLE', message: expect.stringContaining('asked to throw') },
    });
    await world.restart();
    expect(world.statusOf(a)).toBe('quarantined');
    await world.tell(a, { type: 'do', n: 2 });
    const letters = await world.letters(5);
    expect(letters.slice(3)).toMatchObject([
      { reason: 'QUARANTINED', event: { n: 1 } },
      { reason: 'QUARANTINED', event: { n: 2 } },
    ]);
  });

  it('is skipped if the type says resume, however often it throws', async () => {
    const world = await openWorld({ actors: [puppetType({ supervision: { onThrow: 'resume' } })] });
    for (let n = 0; n < 5; n++) await world.ask(a, { type: 'do', throws: 'assign' });
    expect(await world.ask(a, { type: 'do', n: 1 })).toMatchObject({ result: ['do:1'] });
  });

  it('quarantines the actor at once if the type says so', async () => {
    const actors = [puppetType({ supervision: { onThrow: 'quarantine' } })];
    const world = await openWorld({ actors });
    await world.ask(a, { type: 'do', throws: 'assign' });
    expect(world.statusOf(a)).toBe('quarantined');
  });

  it('sends the stashed messages of a quarantined actor to the dead letters', async () => {
    const actors = [puppetType({ supervision: { onThrow: 'quarantine' } })];
    const world = await openWorld({ actors });
    await world.ask(a, { type: 'close' });
    const asked = world.ask(a, { type: 'soft', n: 1 }, { key: 'k' });
    await world.tell(a, { type: 'soft', n: 2 });
    await world.tell(a, { type: 'do', throws: 'assign' });
    const letters = await world.letters(3);
    expect(letters.map(({ event }) => event)).toMatchObject([{ type: 'do' }, { n: 1 }, { n: 2 }]);
    expect(await asked).toMatchObject({ error: { code: 'UNAVAILABLE' } });
  });
});

describe('a supervisor', () => {
  it('is notified; messages wait in order and are applied after sys.resume', async () => {
    const world = await openWorld();
    await createChild(world);
    await world.ask(a, { type: 'do', throws: 'assign' });
    expect(world.statusOf(a)).toBe('suspended');
    await eventually(() =>
      expect(contextOf(world)?.received).toMatchObject([
        {
          type: 'supervision.down',
          child: a,
          crashes: 1,
          poison: false,
          error: { code: 'INTERNAL' },
        },
      ]),
    );
    for (const n of [1, 2, 3]) await world.tell(a, { type: 'do', n });
    await world.restart();
    const last = world.ask(a, { type: 'do', n: 4 });
    await order(world, 'sys.resume');
    expect(await last).toMatchObject({
      result: ['notify:created', 'do:1', 'do:2', 'do:3', 'do:4'],
    });
  });

  it('recreates its actor by sys.restart and keeps its mail', async () => {
    const world = await openWorld();
    await createChild(world);
    await world.ask(a, { type: 'do', n: 1, keeps: 'old' });
    await world.ask(a, { type: 'do', throws: 'guard' });
    await world.tell(a, { type: 'do', n: 2 });
    await order(world, 'sys.restart');
    await eventually(() => expect(world.seen(a)).toEqual(['do:2']));
    expect(world.known(a).keeps).toBeNull();
    expect(world.statusOf(a)).toBe('active');
  });

  it('stops its actor by sys.stop: waiting and new messages are refused', async () => {
    const world = await openWorld();
    await createChild(world);
    await world.ask(a, { type: 'do', throws: 'assign' });
    const waiting = world.ask(a, { type: 'do', n: 1 });
    await order(world, 'sys.stop');
    expect(await waiting).toMatchObject({ kind: 'refused' });
    expect(world.statusOf(a)).toBe('stopped');
    expect(await world.ask(a, { type: 'do', n: 2 })).toMatchObject({ error: { code: 'CONFLICT' } });
  });

  it('quarantines its actor by sys.quarantine', async () => {
    const world = await openWorld();
    await createChild(world);
    await world.ask(a, { type: 'do', throws: 'assign' });
    const waiting = world.ask(a, { type: 'do', n: 1 });
    await order(world, 'sys.quarantine');
    expect(await waiting).toMatchObject({ error: { code: 'UNAVAILABLE' } });
    expect(world.statusOf(a)).toBe('quarantined');
  });

  it('may answer every crash at once, any number of times', async () => {
    const world = await openWorld();
    await createChild(world, 'sys.resume');
    for (let n = 0; n < 6; n++) {
      await world.ask(a, { type: 'do', throws: 'assign' });
      await world.ask(a, { type: 'do', n });
    }
    expect(world.seen(a)).toHaveLength(7);
  });

  it('of a system is notified of actors without a supervisor', async () => {
    const world = await openWorld({ supervisor: boss });
    await world.ask(a, { type: 'do', throws: 'assign' });
    await eventually(() => expect(contextOf(world)?.received).toMatchObject([{ child: a }]));
    expect(world.statusOf(a)).toBe('suspended');
    await order(world, 'sys.resume');
    expect(await world.ask(a, { type: 'do', n: 1 })).toMatchObject({ result: ['do:1'] });
  });
});

describe('directives', () => {
  it.each(['sys.resume', 'sys.restart', 'sys.stop', 'sys.quarantine'])(
    '%s is FORBIDDEN for clients and actors that are not its supervisor',
    async (type) => {
      const world = await openWorld();
      await createChild(world);
      expect(await world.ask(a, { type })).toMatchObject({ error: { code: 'FORBIDDEN' } });
      await world.ask(b, { type: 'do', tells: [{ to: a, event: { type } }] });
      await eventually(() =>
        expect(world.known(b).received).toMatchObject([{ error: { code: 'FORBIDDEN' } }]),
      );
      expect(world.statusOf(a)).toBe('active');
      expect(world.seen(a)).toEqual(['notify:created']);
    },
  );

  it.each(['sys.resume', 'sys.restart'])(
    '%s of its supervisor leaves an actor paused that an operator paused',
    async (type) => {
      const world = await openWorld();
      await createChild(world);
      await world.order(a, 'sys.pause');
      await order(world, type);
      await eventually(async () => {
        const { turns } = await world.system.actors.history(a);
        expect(turns[0]).toMatchObject({ input: type, result: 'applied' });
      });
      await world.tell(a, { type: 'do', n: 1 });
      expect((await world.system.actors.get(a))?.status).toBe('paused');
      expect(world.seen(a)).not.toContain('do:1');
      await world.order(a, 'sys.resume');
      await eventually(() => expect(world.seen(a)).toContain('do:1'));
    },
  );

  it('of an operator that an actor forwards are FORBIDDEN, too', async () => {
    const world = await openWorld();
    await createChild(world);
    const tells = [{ to: a, event: { type: 'sys.stop' } }];
    await world.ask(b, { type: 'do', tells }, { principal: operator });
    await eventually(() => expect(world.known(b).received).toHaveLength(1));
    expect(world.statusOf(a)).toBe('active');
  });

  it('of an operator are executed and answered with the status', async () => {
    const world = await openWorld();
    await world.ask(a, { type: 'do', n: 1 });
    expect(await world.order(a, 'sys.quarantine')).toEqual({
      kind: 'answered',
      result: { status: 'quarantined' },
    });
    expect(await world.order(a, 'sys.resume')).toMatchObject({ result: { status: 'active' } });
    expect(await world.ask(a, { type: 'do', n: 2 })).toMatchObject({ result: ['do:1', 'do:2'] });
    expect(await world.order(a, 'sys.restart')).toMatchObject({ result: { status: 'active' } });
    expect(await world.ask(a, { type: 'do', n: 3 })).toMatchObject({ result: ['do:3'] });
  });

  it('an actor that was quarantined keeps outcomes and timers until it is resumed', async () => {
    const stage = new Stage();
    const world = await openWorld({ services: stage });
    await world.ask(a, { type: 'work', cls: 'once' });
    await world.ask(b, { type: 'arm', ms: 20 });
    for (const actor of [a, b]) await world.order(actor, 'sys.quarantine');
    (await stage.began(1)).done('meanwhile');
    const turns = () => world.system.status().reduce((sum, { turnNo }) => sum + turnNo, 0);
    await eventually(() => expect(turns()).toBe(6)); // two of each, an outcome and a timer
    await world.restart();
    expect(world.known(a).received).toEqual([]);
    for (const actor of [a, b]) await world.order(actor, 'sys.resume');
    await eventually(() => {
      expect(world.known(a).received).toMatchObject([{ type: 'done', output: 'meanwhile' }]);
      expect(world.seen(b)).toContain('fired');
    });
    expect(stage.runs).toHaveLength(1);
  });

  it('create no actor', async () => {
    const world = await openWorld();
    expect(await world.order(a, 'sys.restart')).toMatchObject({ error: { code: 'NOT_FOUND' } });
    expect(world.system.inspect(a)).toBeUndefined();
  });

  it('an actor that was stopped is not resumed, only restarted', async () => {
    const world = await openWorld({ actors: [puppetType({ idleMs: 0 }), bossType()] });
    await world.ask(a, { type: 'arm', ms: 600_000 });
    await world.order(a, 'sys.stop');
    expect(await world.order(a, 'sys.resume')).toMatchObject({ error: { code: 'CONFLICT' } });
    expect(world.statusOf(a)).toBe('stopped');
    expect(await world.order(a, 'sys.restart')).toMatchObject({ result: { status: 'active' } });
    await world.restart();
    expect(await world.ask(a, { type: 'do', n: 1 })).toMatchObject({ result: ['do:1'] });
  });
});
