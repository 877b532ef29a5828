/** Bounds of a turn, and values that no store can hold: an actor may fail, its shard never (I8). */
import { describe, expect, it } from 'vitest';
import { type Address, address } from '../../../protocols/address.ts';
import { DEFAULT_LIMITS } from '../../../runtime/shard/limits.ts';
import { eventually } from '../eventually.ts';
import { type Echo, echoType } from './echo.ts';
import { ODD } from './odd.ts';
import { openWorld, puppet, type World } from './world.ts';

const a = puppet('a');
const b = puppet('b');
const PLACES = ['context', 'tell', 'append', 'project'];
/** Two starting workers may both take a shard: its journal decides, and this is no error. */
const RACED = /is lost: another owner wrote/;
const things = (world: World) => world.system.index.list('things', 't');

/** The shards are owned, and actors continue in this run and the next. */
async function expectSound(world: World): Promise<void> {
  for (let run = 0; run < 2; run++) {
    expect(await world.ask(b, { type: 'do' })).toMatchObject({ kind: 'answered' });
    expect(await world.ask(a, { type: 'do' })).toMatchObject({ kind: 'answered' });
    await eventually(() => {
      for (const { state } of world.system.status()) expect(state).toBe('owned');
    });
    expect(world.alarms.filter((what) => !RACED.test(what))).toEqual([]);
    if (run === 0) await world.restart();
  }
}

describe.each(PLACES)('a value that cannot be stored, in %s,', (where) => {
  it.each(ODD)('crashes its actor and not the shard: %s', async (what) => {
    const world = await openWorld({ shards: 1 });
    expect(await world.ask(a, { type: 'do', n: 'odd', odd: { what, where } })).toMatchObject({
      kind: 'refused',
      error: { code: 'INTERNAL' },
    });
    expect(await world.letters(1)).toMatchObject([{ reason: 'CRASHED', event: { n: 'odd' } }]);
    expect(world.seen(a)).toEqual([]);
    expect(things(world)).toEqual([]);
    expect(await world.system.transcripts.last(a)).toBe(0);
    await expectSound(world);
  });
});

it.each(ODD)('the input of an effect that cannot be stored crashes its actor: %s', async (what) => {
  const world = await openWorld({ shards: 1 });
  const odd = { what, where: 'input' };
  expect(await world.ask(a, { type: 'work', odd })).toMatchObject({
    error: { code: 'INTERNAL' },
  });
  expect(world.system.inspect(a)?.value).toBe('open');
  await expectSound(world);
});

it('an error whose details cannot be stored is kept without them and truncated', async () => {
  const world = await openWorld({ shards: 1 });
  await world.ask(a, { type: 'do', throws: 'odd error' });
  const [letter] = await world.letters(1);
  expect(letter?.error).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('xx') });
  expect(letter?.error.message.length).toBeLessThan(5_000);
  expect(letter?.error.details).toBeUndefined();
  await expectSound(world);
});

describe('a machine with invalid requests crashes, and its shard continues:', () => {
  const event = { type: 'do', n: 'refused' };
  const nonsense: [string, object][] = [
    ['a tell to no address', { tells: [{ to: 'nowhere', event }] }],
    ['a tell without a receiver', { tells: [{ event }] }],
    ['a tell without a message', { tells: [{ to: b }] }],
    ['a tell of null', { tells: [{ to: b, event: null }] }],
    ['a tell without a type', { tells: [{ to: b, event: { n: 1 } }] }],
    ['a tell of an inner type', { tells: [{ to: b, event: { type: 'xstate.init' } }] }],
    ['a tell of an endless type', { tells: [{ to: b, event: { type: 'x'.repeat(5_000) } }] }],
    ['a tell on an unknown lane', { tells: [{ to: b, event, lane: 'fast' }] }],
    ['a tell with a time to live of minus one', { tells: [{ to: b, event, ttlMs: -1 }] }],
    ['a row with an endless key', { projects: { index: 'i', key: 'x'.repeat(5_000), value: 1 } }],
    ['a row of an endless index', { projects: { index: 'i'.repeat(500), key: 'k', value: 1 } }],
    ['a row of a torn index', { projects: { index: 'i\0j', key: 'k', value: 1 } }],
    ['an event on no topic', { publishes: { topic: 7, event: { type: 'x' } } }],
    ['a transcript that is no list', { appends: 7 }],
  ];
  it.each(nonsense)('%s', async (_, what) => {
    const world = await openWorld({ shards: 1 });
    world.system.bus.subscribe('>', () => {});
    expect(await world.ask(a, { type: 'do', n: 'bad', ...what })).toMatchObject({
      kind: 'refused',
      error: { code: 'INTERNAL' },
    });
    expect(world.system.inspect(b)).toBeUndefined();
    await expectSound(world);
  });
});

describe('a turn', () => {
  it('that sends more messages than allowed is refused and rolled back', async () => {
    const world = await openWorld();
    const { outMax } = DEFAULT_LIMITS;
    const tells = Array.from({ length: outMax + 1 }, () => ({ to: b, event: { type: 'do' } }));
    expect(await world.ask(a, { type: 'do', n: 1, tells })).toMatchObject({
      error: { code: 'RATE_LIMIT_EXCEEDED', message: expect.stringContaining(String(outMax)) },
    });
    expect(world.system.inspect(b)).toBeUndefined();
    const enough = tells.slice(1);
    expect(await world.ask(a, { type: 'do', n: 2, tells: enough })).toMatchObject({
      result: ['do:2'],
    });
    await eventually(() => expect(world.seen(b)).toHaveLength(outMax));
  });

  it('that writes more than allowed is refused and rolled back, and the actor continues', async () => {
    const world = await openWorld({ limits: { turnBytesMax: 20_000 } });
    await world.ask(a, { type: 'do', n: 1 });
    expect(await world.ask(a, { type: 'do', n: 2, keeps: 'x'.repeat(30_000) })).toMatchObject({
      error: { code: 'PAYLOAD_TOO_LARGE', message: expect.stringContaining('20000') },
    });
    const appends = Array.from({ length: 300 }, () => ({ type: 'entry' }));
    expect(await world.ask(a, { type: 'do', n: 3, appends })).toMatchObject({
      error: { code: 'PAYLOAD_TOO_LARGE' },
    });
    expect(await world.ask(a, { type: 'do', n: 4 })).toMatchObject({ result: ['do:1', 'do:4'] });
    expect(world.statusOf(a)).toBe('active');
    expect(await world.system.transcripts.last(a)).toBe(0);
  });

  it('of a stashed message is refused once, and the next one is applied', async () => {
    const world = await openWorld({ limits: { turnBytesMax: 20_000 } });
    await world.ask(a, { type: 'close' });
    const large = world.ask(a, { type: 'soft', n: 1, keeps: 'x'.repeat(30_000) });
    const odd = world.ask(a, { type: 'soft', n: 2, odd: { what: 'map', where: 'tell' } });
    const good = world.ask(a, { type: 'soft', n: 3 });
    await world.ask(a, { type: 'open' });
    expect(await large).toMatchObject({ error: { code: 'PAYLOAD_TOO_LARGE' } });
    expect(await odd).toMatchObject({ error: { code: 'INTERNAL' } });
    expect(await good).toMatchObject({ result: ['close', 'open', 'soft:3'] });
    await world.restart();
    expect(await world.ask(a, { type: 'do', n: 4 })).toMatchObject({ kind: 'answered' });
    expect(world.seen(a)).toEqual(['close', 'open', 'soft:3', 'do:4']);
    expect(await world.system.deadLetters.list()).toHaveLength(1);
  });
});

describe('the limit of hops', () => {
  const hopsMax = 8;
  const echo = (key: string) => address('t', 'echo', key);
  const state = (world: World, key: Address) => world.system.inspect(key)?.context as Echo;

  it('ends an endless exchange of two actors, notifies the last sender, and stores the message', async () => {
    const world = await openWorld({ limits: { hopsMax }, actors: [echoType()] });
    await world.ask(echo('1'), { type: 'ball', route: [echo('2'), echo('1')] });
    const balls = () => [echo('1'), echo('2')].map((key) => state(world, key).balls);
    await eventually(() => {
      expect(balls().reduce((sum, n) => sum + n)).toBe(hopsMax + 1);
      expect(state(world, echo('1')).received).toMatchObject([
        { type: 'refused', error: { code: 'CONFLICT' } },
      ]);
    });
  });

  it('ends an endless exchange of three actors', async () => {
    const world = await openWorld({ limits: { hopsMax }, actors: [echoType()], shards: 3 });
    const ring = [echo('1'), echo('2'), echo('3')];
    await world.ask(echo('3'), { type: 'ball', route: ring });
    await eventually(() => {
      expect(ring.reduce((sum, key) => sum + state(world, key).balls, 0)).toBe(hopsMax + 1);
      expect(ring.flatMap((key) => state(world, key).received)).toHaveLength(1);
    });
  });

  it('ends an endless sequence of asks and replies', async () => {
    const world = await openWorld({ limits: { hopsMax }, actors: [echoType()] });
    await world.ask(echo('1'), { type: 'talk', to: echo('2') });
    await eventually(() =>
      expect(state(world, echo('1')).received).toContainEqual(
        expect.objectContaining({ error: expect.objectContaining({ code: 'CONFLICT' }) }),
      ),
    );
    await world.letters(1);
    const asked = state(world, echo('1')).received.length;
    expect(asked).toBeLessThan(hopsMax);
    await world.restart();
    expect(state(world, echo('1')).received).toHaveLength(asked);
  });
});
