/** Idempotency keys: the result of a repeated message (docs/semantics.md). */
import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { puppetType } from './puppet.ts';
import { openWorld, puppet } from './world.ts';

const a = puppet('a');
const b = puppet('b');

describe('with an idempotency key', () => {
  it('a repeat gets the first result and is not applied, before and after a restart', async () => {
    const world = await openWorld();
    const first = await world.ask(a, { type: 'do', n: 1 }, { key: 'k' });
    await world.ask(a, { type: 'do', n: 2 });
    expect(await world.ask(a, { type: 'do', n: 1 }, { key: 'k' })).toEqual(first);
    await world.restart();
    expect(await world.ask(a, { type: 'do', n: 1 }, { key: 'k' })).toEqual(first);
    expect(world.seen(a)).toEqual(['do:1', 'do:2']);
  });

  it('another payload is refused with CONFLICT, before and after a restart', async () => {
    const world = await openWorld();
    await world.ask(a, { type: 'do', n: 1 }, { key: 'k' });
    const conflict = { kind: 'refused', error: { code: 'CONFLICT' } };
    expect(await world.ask(a, { type: 'do', n: 2 }, { key: 'k' })).toMatchObject(conflict);
    await world.restart();
    expect(await world.ask(a, { type: 'do', n: 2 }, { key: 'k' })).toMatchObject(conflict);
    expect(world.seen(a)).toEqual(['do:1']);
  });

  it('the same key counts once per receiver and event type', async () => {
    const world = await openWorld();
    await world.ask(a, { type: 'do', n: 1 }, { key: 'k' });
    await world.ask(a, { type: 'soft', n: 1 }, { key: 'k' });
    await world.ask(b, { type: 'do', n: 9 }, { key: 'k' });
    expect(world.seen(a)).toEqual(['do:1', 'soft:1']);
    expect(world.seen(b)).toEqual(['do:9']);
  });

  it('repeats of a pending request all get its answer', async () => {
    const world = await openWorld();
    const asked = [1, 2, 3].map(() => world.ask(a, { type: 'do', answer: 'later' }, { key: 'k' }));
    await eventually(() => expect(world.seen(a)).toEqual(['do']));
    await world.tell(a, { type: 'settle' });
    const answered = { kind: 'answered', result: ['do', 'settle'] };
    expect(await Promise.all(asked)).toEqual([answered, answered, answered]);
  });

  it('a repeat waits for the answer that was pending when the system stopped', async () => {
    const world = await openWorld();
    void world.ask(a, { type: 'do', answer: 'later' }, { key: 'k' });
    await eventually(() => expect(world.seen(a)).toEqual(['do']));
    await world.restart();
    const repeat = world.ask(a, { type: 'do', answer: 'later' }, { key: 'k' });
    await world.tell(a, { type: 'settle' });
    expect(await repeat).toEqual({ kind: 'answered', result: ['do', 'settle'] });
  });

  it('a temporary refusal is not the result of the key', async () => {
    const actors = [puppetType({ mailbox: { capacity: 1, whenFull: 'reject' } })];
    const world = await openWorld({ actors });
    await world.ask(a, { type: 'close' });
    await world.tell(a, { type: 'soft', n: 1 });
    expect(await world.ask(a, { type: 'soft', n: 2 }, { key: 'k' })).toMatchObject({
      error: { code: 'RATE_LIMIT_EXCEEDED' },
    });
    await world.ask(a, { type: 'open' });
    expect(await world.ask(a, { type: 'soft', n: 2 }, { key: 'k' })).toMatchObject({
      kind: 'answered',
    });
    expect(world.seen(a)).toEqual(['close', 'open', 'soft:1', 'soft:2']);
  });

  it('a temporary refusal of the actor itself is not the result either', async () => {
    const world = await openWorld();
    const full = { code: 'RATE_LIMIT_EXCEEDED', message: 'come again' } as const;
    const sent = { type: 'do', n: 1, refuses: { error: full, until: 3 } };
    expect(await world.ask(a, sent, { key: 'k' })).toMatchObject({ error: full });
    await world.restart();
    expect(await world.ask(a, sent, { key: 'k' })).toMatchObject({ error: full });
    const first = await world.ask(a, sent, { key: 'k' });
    expect(first).toMatchObject({ kind: 'answered' });
    expect(await world.ask(a, sent, { key: 'k' })).toEqual(first);
    expect(world.seen(a)).toEqual(['do:1', 'do:1', 'do:1']);
  });

  it('a permanent refusal of the actor itself is the result of the key', async () => {
    const world = await openWorld();
    const wrong = { code: 'FORBIDDEN', message: 'not you' } as const;
    const sent = { type: 'do', n: 1, refuses: { error: wrong, until: 2 } };
    for (let n = 0; n < 3; n++)
      expect(await world.ask(a, sent, { key: 'k' })).toMatchObject({ error: wrong });
    expect(world.seen(a)).toEqual(['do:1']);
  });

  it('a permanent refusal is the result of the key, also after a restart', async () => {
    const world = await openWorld();
    const refused = await world.ask(a, { type: 'do', throws: 'assign' }, { key: 'k' });
    expect(refused).toMatchObject({ kind: 'refused', error: { code: 'INTERNAL' } });
    await world.restart();
    expect(await world.ask(a, { type: 'do', throws: 'assign' }, { key: 'k' })).toEqual(refused);
    expect(await world.system.deadLetters.list()).toHaveLength(1);
  });

  it('a refused tell becomes a dead letter, because its sender gets no reply', async () => {
    const world = await openWorld();
    await world.ask(a, { type: 'end' });
    await world.tell(a, { type: 'do', n: 1 }, { key: 'k' });
    await world.tell(a, { type: 'do', n: 2 });
    const letters = await world.letters(2);
    expect(letters.map(({ event }) => event)).toMatchObject([{ n: 1 }, { n: 2 }]);
  });

  it('new keys are refused at the limit, and no key is dropped', async () => {
    const world = await openWorld({ shards: 1, limits: { keysMax: 2 } });
    const first = await world.ask(a, { type: 'do', n: 1 }, { key: 'k1' });
    await world.ask(a, { type: 'do', n: 2 }, { key: 'k2' });
    expect(await world.ask(a, { type: 'do', n: 3 }, { key: 'k3' })).toMatchObject({
      error: { code: 'RATE_LIMIT_EXCEEDED' },
    });
    expect(await world.ask(a, { type: 'do', n: 1 }, { key: 'k1' })).toEqual(first);
    expect(await world.ask(a, { type: 'do', n: 3 })).toMatchObject({ kind: 'answered' });
  });
});
