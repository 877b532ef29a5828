/**
 * A damaged record or row stops its shard with the reason; no entry is skipped, and nothing else
 * stops.
 */
import { describe, expect, it } from 'vitest';
import { type Address, shardOf } from '../../../protocols/address.ts';
import { journalSubject, mailboxSubject, transcriptSubject } from '../../../protocols/subjects.ts';
import { openEmbeddedStore } from '../../../runtime/log/embedded-store.ts';
import { stashKey } from '../../../runtime/shard/turn/stash.ts';
import { encodeMail } from '../../../runtime/shard/commit/records.ts';
import { eventually } from '../eventually.ts';
import { flipEntry, flipRow } from './damage.ts';
import { openWorld, puppet, user, type World } from './world.ts';

const SHARDS = 2;
const at = (shard: number): Address => {
  for (let n = 0; ; n++) if (shardOf(puppet(`p${n}`), SHARDS) === shard) return puppet(`p${n}`);
};
const hurt = at(0);
const well = at(1);
const ENV = 'local';

/** Both shards have an actor; `hurt` has a timer, a stashed message and a stored key. */
async function lived(): Promise<World> {
  const world = await openWorld({ shards: SHARDS });
  await world.ask(well, { type: 'do', n: 1 });
  await world.ask(
    hurt,
    { type: 'arm', n: 1, ms: 600_000, appends: [{ type: 'line' }] },
    { key: 'k' },
  );
  return world;
}

/** Shard 0 is quarantined and every entry point reports why; shard 1 continues. */
async function expectQuarantined(world: World, why: RegExp): Promise<void> {
  await eventually(() => expect(world.system.status()[0]?.state).toBe('quarantined'));
  const [sick, sound] = world.system.status();
  expect(sick?.why).toMatch(why);
  expect(world.alarms.join()).toMatch(why);
  const refused = { kind: 'refused', error: { code: 'UNAVAILABLE' } };
  const answer = await world.tell(hurt, { type: 'do', n: 2 });
  expect(answer).toMatchObject(refused);
  expect(answer.kind === 'refused' && answer.error.message).toMatch(why);
  expect(await world.ask(hurt, { type: 'do', n: 2 })).toMatchObject(refused);
  expect(sound?.state).toBe('owned');
  expect(await world.ask(well, { type: 'do', n: 2 })).toMatchObject({ kind: 'answered' });
}

/** What `hurt` has seen after the damage was undone and all later messages were applied. */
async function seenAfterRepair(
  world: World,
  flipBack: () => Promise<void>,
): Promise<readonly string[]> {
  await world.ask(well, {
    type: 'do',
    n: 3,
    tells: [{ to: hurt, event: { type: 'do', n: 'well' } }],
  });
  await world.stop();
  await flipBack();
  await world.start();
  await eventually(() => expect(world.seen(hurt)).toContain('do:well'));
  return world.seen(hurt);
}

describe('damage', () => {
  it('in the last journal record', async () => {
    const world = await lived();
    const last = world.system.status()[0]!.position;
    await world.stop();
    const flip = () => flipEntry(world.path, journalSubject(ENV, 0), last + 1);
    await flip();
    await world.start();
    await expectQuarantined(world, /damaged|checksum/);
    expect((await seenAfterRepair(world, flip))[0]).toBe('arm:1');
  });

  it.each([
    ['scalars', 'meta'],
    ['a timer', 'timer'],
  ])("in the shard's row of %s, at the start", async (_, table) => {
    const world = await lived();
    await world.stop();
    const flip = () => flipRow(world.path, 0, table, '');
    await flip();
    await world.start();
    await expectQuarantined(world, /damaged/);
    expect((await seenAfterRepair(world, flip))[0]).toBe('arm:1');
  });

  it("in an actor's row, as soon as it is needed", async () => {
    const world = await lived();
    await world.stop();
    const flip = () => flipRow(world.path, 0, 'actor', hurt);
    await flip();
    await world.start();
    expect(world.system.status()[0]?.state).toBe('owned');
    await world.tell(hurt, { type: 'do', n: 'first' });
    await expectQuarantined(world, /damaged/);
    expect(await world.system.deadLetters.list()).toEqual([]);
    expect((await seenAfterRepair(world, flip))[0]).toBe('arm:1');
    expect(world.seen(hurt)).toEqual(['arm:1', 'do:first', 'do:well']);
  });

  it.each([
    ['an index, as soon as it is listed', (world: World) => world.system.index.list('names', 't')],
    [
      'an index, as soon as it is read',
      (world: World) => world.system.index.get('names', 't', 'x'),
    ],
    [
      'an index, as soon as it is counted',
      (world: World) =>
        world.system.index.scan<{ n: number }, 'n'>('names', 't', { fields: ['n'] }, () => {}),
    ],
  ])('in a row of %s: its reader receives UNAVAILABLE', async (_, read) => {
    const world = await lived();
    const projects = { index: 'names', key: 'x', value: { n: 1 } };
    await world.ask(hurt, { type: 'do', n: 'named', projects });
    await world.stop();
    const flip = () => flipRow(world.path, 0, 'ix:names', 't|x');
    await flip();
    await world.start();
    expect(world.system.status()[0]?.state).toBe('owned');
    for (let time = 0; time < 2; time++) {
      const failure: unknown = await (async () => read(world))().catch((error: unknown) => error);
      expect(failure).toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringMatching(/damaged/) as string,
      });
    }
    await expectQuarantined(world, /damaged/);
    expect(world.alarms.filter((what) => what.includes('quarantined'))).toHaveLength(1);
    expect((await seenAfterRepair(world, flip))[0]).toBe('arm:1');
    expect(world.system.index.get('names', 't', 'x')).toEqual({ n: 1 });
  });

  it("in an actor's row, as soon as it is inspected", async () => {
    const world = await lived();
    await world.stop();
    const flip = () => flipRow(world.path, 0, 'actor', hurt);
    await flip();
    await world.start();
    expect(() => world.system.inspect(hurt)).toThrow(/damaged/);
    await expectQuarantined(world, /damaged/);
    expect((await seenAfterRepair(world, flip))[0]).toBe('arm:1');
  });

  it('in the row of an idempotency key, as soon as it is needed', async () => {
    const world = await lived();
    await world.stop();
    const flip = () => flipRow(world.path, 0, 'key', `${hurt}\0arm\0k`);
    await flip();
    await world.start();
    await world.tell(hurt, { type: 'arm', n: 1 }, { key: 'k' });
    await expectQuarantined(world, /damaged/);
    expect((await seenAfterRepair(world, flip))[0]).toBe('arm:1');
  });

  it('in a message that waits in a stash', async () => {
    const world = await lived();
    await world.ask(hurt, { type: 'close' });
    await world.tell(hurt, { type: 'soft', n: 1 });
    await world.stop();
    const flip = () => flipRow(world.path, 0, 'stash', stashKey(hurt, 0));
    await flip();
    await world.start();
    await expectQuarantined(world, /damaged/);
    expect((await seenAfterRepair(world, flip))[0]).toBe('arm:1');
    await world.ask(hurt, { type: 'open' });
    await eventually(() => expect(world.seen(hurt)).toContain('soft:1'));
  });

  it('in an unread mailbox entry: no later entry is applied before it', async () => {
    const world = await lived();
    const { cell } = world.system;
    await world.stop();
    const first = await append(world.path, cell);
    const flip = () => flipEntry(world.path, mailboxSubject(ENV, 0, 'data'), first);
    await flip();
    await world.start();
    await expectQuarantined(world, /damaged/);
    expect(world.seen(hurt)).toEqual(['arm:1']);
    expect((await seenAfterRepair(world, flip))[0]).toBe('arm:1');
    expect(world.seen(hurt)).toEqual(['arm:1', 'do:mail 1', 'do:mail 2', 'do:well']);
  });

  it('in a transcript is reported to its reader, and stops no other work', async () => {
    const world = await lived();
    await world.stop();
    await flipEntry(world.path, transcriptSubject(ENV, hurt), 1);
    await world.start();
    await expect(world.system.transcripts.read(hurt)).rejects.toMatchObject({
      details: { reason: 'CORRUPT' },
    });
    expect(await world.ask(hurt, { type: 'do', n: 2 })).toMatchObject({ kind: 'answered' });
  });

  it("in the cell's own record keeps the system from starting, with the reason", async () => {
    const world = await lived();
    await world.stop();
    await flipEntry(world.path, `cell.${ENV}`, 1);
    await expect(world.start()).rejects.toMatchObject({ details: { reason: 'CORRUPT' } });
    await flipEntry(world.path, `cell.${ENV}`, 1);
    await world.start();
    expect(await world.ask(hurt, { type: 'do', n: 2 })).toMatchObject({ kind: 'answered' });
  });
});

it('foreign bytes in a mailbox are kept as a dead letter, and later entries are applied', async () => {
  const world = await lived();
  const { cell } = world.system;
  await world.stop();
  const store = await openEmbeddedStore({ path: world.path, durability: 'process' });
  const subject = mailboxSubject(ENV, 0, 'data');
  for (const bytes of [Buffer.from('no entry'), Buffer.from([0x91, 0xa1, 0x78]), Buffer.alloc(0)])
    await store.log.append(subject, bytes);
  await store.log.append(subject, entry('another cell', 'foreign'));
  await store.log.append(subject, entry(cell, 'good'));
  await store.close();
  await world.start();
  await eventually(() => expect(world.seen(hurt)).toEqual(['arm:1', 'do:good']));
  const letters = await world.letters(4);
  expect(letters.map(({ reason }) => reason)).toEqual(
    Array.from({ length: 4 }, () => 'UNREADABLE'),
  );
  expect(world.system.status()[0]?.state).toBe('owned');
});

const entry = (cell: string, n: string): Buffer =>
  encodeMail({
    kind: 'client',
    cell,
    item: { to: hurt, id: n, event: { type: 'do', n }, hops: 0, principal: user },
    payloadHash: '',
    notAfter: Number.MAX_SAFE_INTEGER,
    ttlMs: 600_000,
  });

/** Two accepted, unread messages; returns the position of the first. */
async function append(path: string, cell: string): Promise<number> {
  const store = await openEmbeddedStore({ path, durability: 'process' });
  const subject = mailboxSubject(ENV, 0, 'data');
  const first = await store.log.append(subject, entry(cell, 'mail 1'));
  await store.log.append(subject, entry(cell, 'mail 2'));
  await store.close();
  if (first.kind !== 'stored') throw new Error('the mail was not stored');
  return first.position;
}
