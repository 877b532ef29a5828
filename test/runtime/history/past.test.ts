/**
 * An actor as each of its turns left it: where several turns of one record change it, only the last
 * of them has its row, and a wrong state between them would be taken for the real one.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import { turnsOfJournal } from '../../../runtime/history/journal-turns.ts';
import { eventually } from '../eventually.ts';
import { ada, lamp, lampType } from './lamps.ts';

const RINGS = 80;

async function open() {
  const path = mkdtempSync(join(tmpdir(), 'troupe-past-'));
  const ports = await openEmbedded({ path });
  const system = await createSystem({ ...ports, actors: [lampType('full')], shards: 1 });
  onTestFinished(async () => {
    await system.stop();
    rmSync(path, { recursive: true, force: true });
  });
  return { system, log: ports.store.log };
}

it('each turn has its state, also where a record has the row of the last one only', async () => {
  const { system, log } = await open();
  const rings = Array.from({ length: RINGS }, () => system.tell(lamp(0), { type: 'ring' }, ada));
  await Promise.all(rings);
  await eventually(() => expect(system.inspect(lamp(0))?.context).toMatchObject({ rings: RINGS }));
  const records: number[] = [];
  for await (const { turns } of turnsOfJournal({ log, env: 'local', shard: 0 }, { after: 0 }))
    records.push(turns.length);
  expect(Math.max(...records)).toBeGreaterThan(1);
  const { turns } = await system.actors.history(lamp(0), { limit: 1_000 });
  expect(turns).toHaveLength(RINGS);
  for (const [at, { turn }] of turns.toReversed().entries()) {
    const past = await system.actors.past(lamp(0), turn);
    expect(past).toMatchObject({
      turn,
      context: { rings: at + 1 },
      appended: { turn, entries: 1 },
    });
  }
});

it('a turn that is not kept is refused: never was, is of another actor, or was removed', async () => {
  const { system } = await open();
  await system.tell(lamp(0), { type: 'ring' }, ada);
  await system.tell(lamp(1), { type: 'ring' }, ada);
  await eventually(() => expect(system.inspect(lamp(1))?.context).toMatchObject({ rings: 1 }));
  const [turn] = (await system.actors.history(lamp(0))).turns;
  const refused = (n: number, actor: number, why: string) =>
    expect(system.actors.past(lamp(actor), n)).rejects.toThrow(why);
  await refused(turn!.turn + 1, 0, `the last one before is ${turn!.turn}`);
  await refused(turn!.turn, 1, 'its history goes back to turn');
  await system.tell(lamp(0), { type: 'remove' }, ada);
  await eventually(() => expect(system.inspect(lamp(0))).toBeUndefined());
  await refused(turn!.turn, 0, 'no turns');
});
