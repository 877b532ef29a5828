/**
 * Programs of two versions on one store: entries that only the newer one can read are accepted
 * work. If the older program treated them as damaged, it would skip them or make dead letters of
 * them.
 */
import { expect, it } from 'vitest';
import { type Address, shardOf } from '../../../protocols/address.ts';
import { eventually } from '../eventually.ts';
import { type NewerProgram, NewerProgramLog } from './newer-program.ts';
import { openWorld, puppet, type World } from './world.ts';

const SHARDS = 2;
const at = (shard: number): Address => {
  for (let n = 0; ; n++) if (shardOf(puppet(`p${n}`), SHARDS) === shard) return puppet(`p${n}`);
};
const hurt = at(0);
const well = at(1);
const WHY = /format 2, for programs that know format 2 at least.*newer version of troupe/;

const asNewer = (program: NewerProgram) => ({
  aroundLog: (log: ConstructorParameters<typeof NewerProgramLog>[0]) =>
    new NewerProgramLog(log, program),
});
const newer = asNewer({ writes: () => true, reads: true });
const older = asNewer({ writes: () => false, reads: false });

/** Shard 0 is quarantined with the reason that a newer version is needed; shard 1 continues. */
async function expectStopped(world: World): Promise<void> {
  await eventually(() =>
    expect(world.system.status()[0]).toMatchObject({ state: 'quarantined', formatNeeded: 2 }),
  );
  expect(world.system.status()[0]?.why).toMatch(WHY);
  expect(world.alarms.join()).toMatch(WHY);
  const answer = await world.tell(hurt, { type: 'do', n: 'refused' });
  expect(answer).toMatchObject({ kind: 'refused', error: { code: 'UNAVAILABLE' } });
  expect(answer.kind === 'refused' && answer.error.message).toMatch(WHY);
  expect(await world.ask(well, { type: 'do', n: 2 })).toMatchObject({ kind: 'answered' });
  expect(await world.system.deadLetters.list()).toEqual([]);
}

it('a mailbox entry of a newer program stops its shard, and a program that can read it applies it in order', async () => {
  let isNewer = false;
  const entryPoint = asNewer({ writes: (to) => isNewer && to.startsWith('mbx.'), reads: false });
  const world = await openWorld({ shards: SHARDS, ...entryPoint });
  await world.ask(well, { type: 'do', n: 1 });
  await world.ask(hurt, { type: 'do', n: 1 });
  isNewer = true;
  expect(await world.tell(hurt, { type: 'do', n: 2 })).toMatchObject({ kind: 'accepted' });
  isNewer = false;
  await eventually(() => expect(world.system.status()[0]?.state).toBe('quarantined'));
  const tells = [{ to: hurt, event: { type: 'do', n: 'well' } }];
  await world.ask(well, { type: 'do', n: 3, tells });
  await expectStopped(world);
  expect(world.seen(hurt)).toEqual(['do:1']);
  await world.restart(older);
  await expectStopped(world);
  expect(world.seen(hurt)).toEqual(['do:1']);
  await world.restart(newer);
  await eventually(() => expect(world.seen(hurt)).toEqual(['do:1', 'do:2', 'do:well']));
  expect(await world.ask(hurt, { type: 'do', n: 3 })).toMatchObject({ kind: 'answered' });
  expect(await world.system.deadLetters.list()).toEqual([]);
});

it('a transcript entry of a newer program is reported to its reader, and stops no other work', async () => {
  let isNewer = false;
  const writer = asNewer({ writes: (to) => isNewer && to.startsWith('trn.'), reads: false });
  const world = await openWorld({ shards: SHARDS, ...writer });
  const line = (n: number) => world.ask(hurt, { type: 'do', n, appends: [{ type: `line ${n}` }] });
  await line(1);
  expect(await world.system.transcripts.read(hurt)).toHaveLength(1);
  isNewer = true;
  await line(2);
  isNewer = false;
  await line(3);
  for (let time = 0; time < 2; time++)
    await expect(world.system.transcripts.read(hurt)).rejects.toMatchObject({
      message: expect.stringMatching(WHY) as string,
      details: { reason: 'NEWER_FORMAT' },
    });
  await world.restart(newer);
  const entries = await world.system.transcripts.read(hurt);
  expect(entries.map(({ entry }) => entry.type)).toEqual(['line 1', 'line 2', 'line 3']);
});

it('a dead letter of a newer program makes the list unreadable, and a program that can read it lists it', async () => {
  let isNewer = false;
  const writer = asNewer({ writes: (to) => isNewer && to.startsWith('a2a.'), reads: false });
  const world = await openWorld({ shards: SHARDS, ...writer });
  const error = { code: 'UNAVAILABLE', message: 'down' };
  const abandons = [{ domain: 'orders', event: { type: 'book' }, reason: 'GIVEN_UP', error }];
  await world.ask(hurt, { type: 'do', abandons });
  await world.letters(1);
  isNewer = true;
  await world.ask(hurt, { type: 'do', abandons });
  await eventually(() =>
    expect(world.system.deadLetters.list()).rejects.toMatchObject({
      details: { reason: 'NEWER_FORMAT' },
    }),
  );
  await world.restart(newer);
  await world.letters(2);
});
