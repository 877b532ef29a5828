/** Recorded turns taken again: equal with the same machine, and a change is found at its turn. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { HistoryReader } from '../../../runtime/history/reader.ts';
import { historyRules } from '../../../runtime/history/policy.ts';
import { replay } from '../../../runtime/history/replay.ts';
import { createRegistry } from '../../../runtime/actor/registry.ts';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import { eventually } from '../eventually.ts';
import { ada, lamp, lampType } from './lamps.ts';

const LAMPS = 100;
const ROUNDS = 12;

/** Lamps that did a lot, and what is recorded of them. */
async function recorded() {
  const path = mkdtempSync(join(tmpdir(), 'troupe-replay-'));
  const ports = await openEmbedded({ path });
  const definition = lampType('full');
  const system = await createSystem({ ...ports, actors: [definition], shards: 1 });
  onTestFinished(async () => {
    await system.stop();
    rmSync(path, { recursive: true, force: true });
  });
  const names = ['press', 'ring', 'nothing', 'ring', 'press'];
  for (let round = 0; round < ROUNDS; round++)
    await Promise.all(
      Array.from({ length: LAMPS }, (_, n) =>
        system.tell(
          lamp(n),
          { type: names[(n + round * round) % names.length]!, n, loud: n % 2 === 0 },
          { ...ada, ...(n % 3 === 0 ? { key: `${round}-${n}` } : {}) },
        ),
      ),
    );
  await eventually(() => {
    expect(system.status()[0]?.lag).toBe(0);
    for (let n = 0; n < LAMPS; n++) expect(system.inspect(lamp(n))?.value).toBe('off');
  });
  const rules = historyRules(createRegistry([definition]), 1);
  const { log } = ports.store;
  const reader = new HistoryReader({ log, env: 'local', shards: 1, rules, wallMs: Date.now });
  const where = { cell: system.cell, shard: 0, shards: 1 };
  const turnsOf = (n: number) => reader.turnsWithBodies(lamp(n));
  return { turnsOf, where };
}

it('many recorded actors are equal, and a changed guard is found at the first turn it decides', async () => {
  const { turnsOf, where } = await recorded();
  let taken = 0;
  let found = 0;
  for (let n = 0; n < LAMPS; n++) {
    const turns = await turnsOf(n);
    const same = replay(turns, [lampType('full')], where);
    if (same.kind !== 'equal') console.log(JSON.stringify(same, null, 1));
    expect(same).toMatchObject({ kind: 'equal' });
    taken += same.turns;
    const changed = replay(turns, [lampType('full', { isLoud: () => false })], where);
    // The first ring that was loud in the state `off` now also appends to the transcript.
    const first = turns.find(
      ({ turn: { result, source, state, puts, out } }) =>
        result === 'applied' &&
        source?.kind === 'message' &&
        source.item.event.type === 'ring' &&
        source.item.event['loud'] === true &&
        out.length === 0 &&
        (state === 'off' || puts.length > 0),
    );
    if (changed.kind === 'equal') continue;
    found++;
    expect(changed.recorded).toMatchObject({ sent: [] });
    expect(changed.replayed['sent']).toHaveLength(1);
    expect(changed.turn).toBeGreaterThanOrEqual(first!.turn.turnNo);
  }
  expect(taken).toBeGreaterThan(LAMPS * ROUNDS);
  expect(found).toBeGreaterThan(10);
});

it('a recording that begins in the middle of a life is taken from its first row on', async () => {
  const { turnsOf, where } = await recorded();
  const turns = (await turnsOf(1)).slice(3);
  const result = replay(turns, [lampType('full')], where);
  expect(result).toMatchObject({ kind: 'equal' });
  expect(result.turns).toBeGreaterThan(5);
});
