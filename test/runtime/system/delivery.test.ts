/** Delivery: an accepted message is applied once or refused with its reason (docs/semantics.md). */
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { MESSAGE_BYTES_MAX } from '../../../runtime/message-client.ts';
import { eventually } from '../eventually.ts';
import { openWorld, puppet } from './world.ts';

const a = puppet('a');
const b = puppet('b');
/** The clock of a shard in a cluster differs from its log's time by up to a round trip (H1). */
const PASSED_MS = 100;

describe('a message', () => {
  it('that is sent by tell is applied', async () => {
    const world = await openWorld();
    expect(await world.tell(a, { type: 'do', n: 1 })).toMatchObject({ kind: 'accepted' });
    await eventually(() => expect(world.seen(a)).toEqual(['do:1']));
  });

  it("that is sent by ask returns the actor's reply", async () => {
    const world = await openWorld();
    const answer = await world.ask(a, { type: 'do', answer: { deep: [1, null, 'x'] } });
    expect(answer).toEqual({ kind: 'answered', result: { deep: [1, null, 'x'] } });
  });

  it('is answered by a reply without a result, too', async () => {
    const world = await openWorld();
    const answer = await world.ask(a, { type: 'do', answer: null }, { key: 'k' });
    expect(answer).toMatchObject({ kind: 'answered', result: null });
    expect(await world.ask(a, { type: 'do', answer: null }, { key: 'k' })).toEqual(answer);
    const settled = world.ask(b, { type: 'do', answer: 'later' }, { key: 'k' });
    await world.tell(b, { type: 'settle' });
    expect(await settled).toMatchObject({ kind: 'answered' });
  });

  it.each([{}, { repeatable: true as const }])(
    'that is forwarded to another actor is answered by that one (%j)',
    async (how) => {
      const world = await openWorld({ shards: 4 });
      for (const other of ['b', 'c', 'd', 'e'].map(puppet)) {
        const handed = { type: 'do', n: 1, hands: [other], answer: 'never' };
        expect(await world.ask(a, handed, how)).toEqual({
          kind: 'answered',
          result: ['do:handed'],
        });
        // A caller that received a reply sees the turn that replied.
        expect(world.seen(other)).toEqual(['do:handed']);
      }
      const both = { type: 'do', n: 2, hands: [b], answer: 'first' };
      expect(await world.ask(a, both, how)).toMatchObject({ kind: 'answered' });
    },
  );

  it('of an actor that is forwarded is answered by its last receiver', async () => {
    const world = await openWorld();
    const [c, d] = [puppet('c'), puppet('d')];
    const handed = { type: 'do', hands: [d], answer: 'never' };
    await world.tell(c, { type: 'do', tells: [{ to: a, event: handed, ask: true }] });
    await eventually(() =>
      expect(world.known(c).received).toMatchObject([{ type: 'reply', result: ['do:handed'] }]),
    );
  });

  it('that its actor does not accept is refused', async () => {
    const world = await openWorld();
    expect(await world.ask(a, { type: 'unknown' })).toMatchObject({
      kind: 'refused',
      error: { code: 'CONFLICT' },
    });
  });

  it('without a reply ends as a timeout, although it was applied', async () => {
    const world = await openWorld();
    const answer = await world.ask(a, { type: 'do', n: 1, answer: 'never' }, { timeoutMs: 20 });
    expect(answer).toEqual({ kind: 'timeout' });
    await eventually(() => expect(world.seen(a)).toEqual(['do:1']));
  });

  it('accepted right before a stop is applied after the next start', async () => {
    const world = await openWorld();
    const sent = Array.from({ length: 50 }, (_, n) => world.tell(a, { type: 'do', n }));
    for (const answer of await Promise.all(sent)) expect(answer.kind).toBe('accepted');
    await world.restart();
    const all = Array.from({ length: 50 }, (_, n) => `do:${n}`);
    await eventually(() => expect(world.seen(a)).toEqual(all));
  });

  it('from one actor to another is applied once, in another shard, too', async () => {
    const world = await openWorld({ shards: 8 });
    const others = Array.from({ length: 20 }, (_, n) => puppet(`other-${n}`));
    await world.ask(a, {
      type: 'do',
      tells: others.map((to) => ({ to, event: { type: 'do', n: 1 } })),
    });
    await eventually(() => {
      for (const to of others) expect(world.seen(to)).toEqual(['do:1']);
    });
    await world.restart();
    for (const to of others)
      expect(await world.ask(to, { type: 'do', n: 2 })).toEqual({
        kind: 'answered',
        result: ['do:1', 'do:2'],
      });
  });

  it('that is an ask of an actor is answered by a reply with the id of the ask', async () => {
    const world = await openWorld();
    await world.ask(a, { type: 'do', tells: [{ to: b, event: { type: 'do', n: 1 }, ask: true }] });
    await eventually(() =>
      expect(world.known(a).received).toMatchObject([{ type: 'reply', result: ['do:1'] }]),
    );
  });

  it('from an actor to a type that is not registered is returned as refused', async () => {
    const world = await openWorld();
    const to = address('t', 'unknown', 'x');
    await world.ask(a, { type: 'do', tells: [{ to, event: { type: 'do' } }] });
    await eventually(() =>
      expect(world.known(a).received).toMatchObject([
        { type: 'refused', message: 'do', error: { code: 'NOT_FOUND' } },
      ]),
    );
  });
});

describe('without a key', () => {
  it('every send is a new message', async () => {
    const world = await openWorld();
    await world.ask(a, { type: 'do', n: 1 });
    await world.ask(a, { type: 'do', n: 1 });
    expect(world.seen(a)).toEqual(['do:1', 'do:1']);
  });
});

describe('time to live', () => {
  it('a message that would be applied too late is refused as EXPIRED', async () => {
    const world = await openWorld();
    await world.ask(a, { type: 'close' });
    const asked = world.ask(a, { type: 'soft', n: 1 }, { ttlMs: 1 });
    await world.tell(a, { type: 'soft', n: 2 }, { ttlMs: 1 });
    await world.tell(a, { type: 'soft', n: 3 });
    await passed(PASSED_MS);
    await world.ask(a, { type: 'open' });
    expect(await asked).toMatchObject({ kind: 'refused', error: { code: 'EXPIRED' } });
    const [letter] = await world.letters(1);
    expect(letter).toMatchObject({ event: { n: 2 }, error: { code: 'EXPIRED' } });
    await eventually(() => expect(world.seen(a)).toEqual(['close', 'open', 'soft:3']));
  });

  it('counts over a restart', async () => {
    const world = await openWorld();
    await world.ask(a, { type: 'close' });
    await world.tell(a, { type: 'soft', n: 1 }, { ttlMs: 1 });
    await world.restart();
    await world.ask(a, { type: 'open' });
    await world.letters(1);
    expect(world.seen(a)).toEqual(['close', 'open']);
  });

  it('a message of an actor that expires is returned as refused', async () => {
    const world = await openWorld();
    await world.ask(b, { type: 'close' });
    const tell = { to: b, event: { type: 'soft', n: 1 }, ttlMs: 0 };
    await world.ask(a, { type: 'do', tells: [tell] });
    await passed(PASSED_MS);
    await world.ask(b, { type: 'open' });
    await eventually(() =>
      expect(world.known(a).received).toMatchObject([
        { type: 'refused', error: { code: 'EXPIRED' } },
      ]),
    );
  });
});

describe('the entry point refuses, without accepting anything,', () => {
  it('a type that is not registered, and names the registered ones', async () => {
    const world = await openWorld();
    const answer = await world.tell(address('t', 'unknown', 'x'), { type: 'do' });
    expect(answer).toMatchObject({
      error: { code: 'NOT_FOUND', message: expect.stringContaining('puppet') },
    });
  });

  it.each([
    ['an inner type', { type: 'xstate.init' }],
    ['the wildcard', { type: '*' }],
    ['an empty type', { type: '' }],
    ['no type', {}],
    ['a type that is no text', { type: 7 }],
    ['a type of 201 characters', { type: 'x'.repeat(201) }],
    ["the host's field meta", { type: 'do', meta: { now: 0 } }],
    ['a circle', circle()],
    ['a function', { type: 'do', f: () => 1 }],
    ['a bigint', { type: 'do', b: 5n }],
    ['no message', null],
    ['a text', 'do'],
  ])('%s', async (_, event) => {
    const world = await openWorld();
    expect(await world.tell(a, event as never)).toMatchObject({
      kind: 'refused',
      error: { code: 'INVALID_ARGUMENT' },
    });
    expect(await world.ask(a, event as never)).toMatchObject({ kind: 'refused' });
    expect(world.system.inspect(a)).toBeUndefined();
  });

  it.each(['', 'a', 'a/b', 'A/puppet/x', 't/puppet/', `t/puppet/${'x'.repeat(513)}`])(
    'the address %j',
    async (to) => {
      const world = await openWorld();
      expect(await world.tell(to as never, { type: 'do' })).toMatchObject({
        error: { code: 'INVALID_ARGUMENT' },
      });
    },
  );

  it('a message that is too large, and names the limit', async () => {
    const world = await openWorld();
    expect(await world.tell(a, { type: 'do', big: 'x'.repeat(MESSAGE_BYTES_MAX) })).toMatchObject({
      error: {
        code: 'PAYLOAD_TOO_LARGE',
        message: expect.stringContaining(String(MESSAGE_BYTES_MAX)),
      },
    });
  });

  it('a key that is empty or longer than 512 bytes', async () => {
    const world = await openWorld();
    const refused = { kind: 'refused', error: { code: 'INVALID_ARGUMENT' } };
    expect(await world.tell(a, { type: 'do' }, { key: '' })).toMatchObject(refused);
    expect(await world.tell(a, { type: 'do' }, { key: 'x'.repeat(513) })).toMatchObject(refused);
    expect(await world.tell(a, { type: 'do' }, { key: 'ä'.repeat(257) })).toMatchObject(refused);
    expect(await world.tell(a, { type: 'do' }, { key: 'half \ud800' })).toMatchObject(refused);
  });

  it('a time to live that is no whole number', async () => {
    const world = await openWorld();
    for (const ttlMs of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(await world.tell(a, { type: 'do' }, { ttlMs })).toMatchObject({
        error: { code: 'INVALID_ARGUMENT' },
      });
    }
  });

  it('everything after a stop, which may be repeated', async () => {
    const world = await openWorld();
    const { system } = world;
    const pending = world.ask(a, { type: 'do', answer: 'never' });
    await eventually(() => expect(world.seen(a)).toEqual(['do']));
    await Promise.all([system.stop(), system.stop()]);
    expect(await pending).toEqual({ kind: 'timeout' });
    expect(await world.tell(a, { type: 'do' })).toMatchObject({ error: { code: 'UNAVAILABLE' } });
    expect(await world.ask(a, { type: 'do' })).toMatchObject({ error: { code: 'UNAVAILABLE' } });
    await system.stop();
  });
});

it('accepts the longest allowed names', async () => {
  const long = address('t'.repeat(63), 'puppet', 'ü'.repeat(256));
  const world = await openWorld();
  const key = 'ö'.repeat(256);
  const event = { type: '語'.repeat(200) };
  await world.ask(long, event, { key });
  expect(await world.ask(long, { type: 'arm', ms: 60_000 }, { key })).toMatchObject({
    kind: 'answered',
  });
  expect(await world.ask(long, { type: 'close' })).toMatchObject({ kind: 'answered' });
  await world.tell(long, { type: 'soft' });
  expect(await world.ask(long, { type: 'do' })).toMatchObject({ kind: 'answered' });
  await eventually(() =>
    expect(world.system.status()).toMatchObject([{ state: 'owned' }, { state: 'owned' }]),
  );
});

function circle(): unknown {
  const event: Record<string, unknown> = { type: 'do' };
  event['itself'] = event;
  return event;
}

/** Resolves when the wall clock has advanced by this time. */
const passed = (ms: number): Promise<void> => {
  const until = Date.now() + ms;
  return eventually(() => expect(Date.now()).toBeGreaterThan(until));
};
