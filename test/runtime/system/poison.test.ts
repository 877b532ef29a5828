/**
 * Inputs and effects that kill the process: they are identified, stored, and never repeated
 * endlessly (K, G).
 */
import { describe, expect, it } from 'vitest';
import { shardOf } from '../../../protocols/address.ts';
import { eventually } from '../eventually.ts';
import { DIED, Fragile } from './fragile.ts';
import type { Known } from './puppet.ts';
import { boss, puppet } from './world.ts';

const bad = puppet('bad');
/** An actor of the same shard as the one that kills. */
const neighbour = (() => {
  for (let n = 0; ; n++) {
    const key = puppet(`n${n}`);
    if (shardOf(key, 2) === shardOf(bad, 2)) return key;
  }
})();
const TIMEOUT = { timeout: 120_000 };
/**
 * Two crashes activate the crash-loop guard, three more identify the message, and the sixth process
 * survives.
 */
const STARTS = 6;

describe('a message that kills the process', TIMEOUT, () => {
  it('ends as a dead letter, its sender is notified, and all others continue', async () => {
    const fragile = await Fragile.open();
    await fragile.ask(bad, { type: 'do', n: 1 });
    const die = { type: 'do', n: 'die', kills: true };
    expect(await fragile.ask(bad, die, { key: 'k' })).toBe(DIED);
    await fragile.survive();
    expect(fragile.starts).toBe(STARTS);
    expect(await fragile.letters()).toMatchObject([
      {
        reason: 'POISON',
        to: bad,
        event: die,
        error: { message: expect.stringContaining('3 times') },
      },
    ]);
    const reply = await fragile.ask(bad, die, { key: 'k' });
    expect(reply).toMatchObject({ kind: 'refused', error: { code: 'INTERNAL' } });
    expect(await fragile.ask(bad, { type: 'do', n: 2 })).toMatchObject({
      result: ['do:1', 'do:2'],
    });
    expect(await fragile.ask(neighbour, { type: 'do', n: 1 })).toMatchObject({ result: ['do:1'] });
    await fragile.kill();
    await fragile.start();
    expect(await fragile.ask(bad, die, { key: 'k' })).toEqual(reply);
    expect(await fragile.letters()).toHaveLength(1);
  });

  it('is reported to its sender and to the supervisor of its receiver', async () => {
    const fragile = await Fragile.open();
    await fragile.tell(boss, { type: 'create', child: bad });
    await eventually(async () =>
      expect(await fragile.known(bad)).toMatchObject({ seen: ['notify:created'] }),
    );
    await fragile.ask(bad, { type: 'do', n: 1 });
    const tells = [{ to: bad, event: { type: 'do', kills: true } }];
    await fragile.tell(neighbour, { type: 'do', tells });
    await eventually(async () => expect(await fragile.letters()).toBe(DIED));
    await fragile.survive();
    await eventually(async () => {
      expect(await fragile.known<Known>(neighbour)).toMatchObject({
        received: [{ type: 'refused', error: { code: 'INTERNAL' } }],
      });
      expect(await fragile.known(boss)).toMatchObject({
        received: [{ type: 'supervision.down', child: bad, poison: true }],
      });
    });
    await fragile.tell(boss, { type: 'order', child: bad, directive: 'sys.resume' });
    expect(await fragile.ask(bad, { type: 'do', n: 2 })).toMatchObject({
      result: ['notify:created', 'do:1', 'do:2'],
    });
  });

  it('when it is applied from the stash ends as a dead letter, and later stashed messages are applied', async () => {
    const fragile = await Fragile.open();
    await fragile.ask(bad, { type: 'close' });
    for (const n of [1, 2, 3]) await fragile.tell(bad, { type: 'soft', n, kills: n === 2 });
    await fragile.tell(bad, { type: 'open' });
    await eventually(async () => expect(await fragile.letters()).toBe(DIED));
    await fragile.survive();
    expect(await fragile.letters()).toMatchObject([{ reason: 'POISON', event: { n: 2 } }]);
    await eventually(async () =>
      expect(await fragile.known(bad)).toMatchObject({
        seen: ['close', 'open', 'soft:1', 'soft:3'],
      }),
    );
  });

  it('as the first of its actor ends as a dead letter, and the next one creates the actor', async () => {
    const fragile = await Fragile.open();
    expect(await fragile.ask(bad, { type: 'do', kills: true })).toBe(DIED);
    await fragile.survive();
    expect(await fragile.letters()).toMatchObject([{ reason: 'POISON' }]);
    expect(await fragile.ask(bad, { type: 'do', n: 1 })).toMatchObject({ result: ['do:1'] });
  });
});

it(
  'kills from outside are attributed to no message, and no message is lost or duplicated',
  TIMEOUT,
  async () => {
    const fragile = await Fragile.open();
    const seen = (count: number) =>
      eventually(async () =>
        expect(await fragile.known(bad)).toMatchObject({
          seen: Array.from({ length: count }, (_, n) => `do:${n}`),
        }),
      );
    for (let n = 0; n < 8; n++) {
      expect(await fragile.tell(bad, { type: 'do', n })).toMatchObject({ kind: 'accepted' });
      await fragile.kill();
      await fragile.start();
      // A message whose turn is not stored before the third kill is poison: on a busy machine too.
      if (n % 2 === 1) await seen(n + 1);
    }
    expect(await fragile.letters()).toEqual([]);
  },
);

/** Resolves with the unknown effect when no process is known to run it. */
const unknown = (fragile: Fragile) =>
  eventually(async () => {
    const [effect] = await fragile.unknown();
    if (!effect) throw new Error('no effect is unknown');
    return effect;
  });

describe('an effect that kills the process', TIMEOUT, () => {
  it('of class once has its Start committed before: it is unknown, and not run again', async () => {
    const fragile = await Fragile.open();
    await fragile.tell(bad, { type: 'work', cls: 'once', input: { kills: [1, 2] } });
    await eventually(async () => expect(await fragile.letters()).toBe(DIED));
    await fragile.survive();
    expect(fragile.starts).toBe(2);
    const effect = await unknown(fragile);
    expect(effect).toMatchObject({ actor: bad, effect: 'once', attempt: 1 });
    await fragile.call('decide', effect.id, { kind: 'again' });
    await eventually(async () => expect(await fragile.letters()).toBe(DIED));
    await fragile.survive();
    const again = await unknown(fragile);
    expect(again).toMatchObject({ id: effect.id, attempt: 2 });
    await fragile.call('decide', again.id, { kind: 'again' });
    await eventually(async () =>
      expect(await fragile.known(bad)).toMatchObject({
        received: [{ type: 'done', output: { attempt: 3 } }],
      }),
    );
  });
});

// Its shard is busy, so the crash-loop guard ends before the effect does.
it('an outcome of a slow effect that kills the process ends as poison', TIMEOUT, async () => {
  const fragile = await Fragile.open();
  const input = { endsProcess: true, ms: 1_500 };
  await fragile.tell(bad, { type: 'work', cls: 'keyed', input });
  const ended = async () => {
    for (let n = 0; n < 70; n++) await fragile.tell(neighbour, { type: 'do', n });
    return eventually(async () => {
      const letters = await fragile.letters();
      expect(letters).not.toEqual([]);
      return letters;
    });
  };
  let letters: unknown = await ended();
  for (; letters === DIED && fragile.starts < STARTS; letters = await ended())
    await fragile.start();
  expect(letters).toMatchObject([{ reason: 'POISON', to: bad }]);
});
