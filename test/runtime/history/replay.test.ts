/** Recorded turns taken again: equal with the same machine, and a change is found at its turn. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { shardOf } from '../../../protocols/address.ts';
import { HistoryReader } from '../../../runtime/history/reader.ts';
import { historyRules } from '../../../runtime/history/policy.ts';
import { replay } from '../../../runtime/history/replay.ts';
import { createRegistry } from '../../../runtime/actor/registry.ts';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import type { FullTurn } from '../../../runtime/history/full-turns.ts';
import { TABLE } from '../../../runtime/shard/commit/fold.ts';
import type { OpenTurn } from '../../../runtime/shard/commit/group.ts';
import { decodeActorRow } from '../../../runtime/shard/turn/actor-row.ts';
import { eventually } from '../eventually.ts';
import { ada, lamp, lampType } from './lamps.ts';

const SHARDS = 8;

/** Lamps that did a lot, and what is recorded of them. */
async function recorded({ lamps, rounds }: { lamps: number; rounds: number }) {
  const path = mkdtempSync(join(tmpdir(), 'troupe-replay-'));
  const ports = await openEmbedded({ path });
  const definition = lampType('full');
  const system = await createSystem({ ...ports, actors: [definition], shards: SHARDS });
  onTestFinished(async () => {
    await system.stop();
    rmSync(path, { recursive: true, force: true });
  });
  const names = ['press', 'ring', 'nothing', 'ring', 'press'];
  for (let round = 0; round < rounds; round++)
    await Promise.all(
      Array.from({ length: lamps }, (_, n) =>
        system.tell(
          lamp(n),
          { type: names[(n + round * round) % names.length]!, n, loud: n % 2 === 0 },
          { ...ada, ...(n % 3 === 0 ? { key: `${round}-${n}` } : {}) },
        ),
      ),
    );
  await eventually(() => {
    for (const { lag } of system.status()) expect(lag).toBe(0);
    for (let n = 0; n < lamps; n++) expect(system.inspect(lamp(n))?.value).toBe('off');
  });
  const rules = historyRules(createRegistry([definition]), SHARDS);
  const { log } = ports.store;
  const reader = new HistoryReader({ log, env: 'local', shards: SHARDS, rules, wallMs: Date.now });
  const turnsOf = (n: number) => reader.turnsWithBodies(lamp(n));
  const whereIs = (n: number) => {
    return { cell: system.cell, shard: shardOf(lamp(n), SHARDS), shards: SHARDS };
  };
  return { turnsOf, whereIs };
}

/** The first turn in which a lamp that is off decides about a loud ring, also one that waited. */
function firstLoudRing(turns: readonly FullTurn[]): number | undefined {
  let before: unknown = 'off';
  for (const { turn } of turns) {
    const { source, result, turnNo } = turn;
    const message = source?.kind === 'message' ? source.item.event : undefined;
    if (before === 'off' && result === 'applied' && message?.type === 'ring' && message['loud'])
      return turnNo;
    before = stateAfter(turn) ?? before;
  }
  return undefined;
}

function stateAfter({ puts, actor, state }: OpenTurn): unknown {
  const row = puts.find(([table, key]) => table === TABLE.actor && key === actor)?.[2];
  return row instanceof Uint8Array ? decodeActorRow(row).row.snap.v : state;
}

it('1,000 recorded actors are equal, and a changed guard is found at the turn it first decides', async () => {
  const { turnsOf, whereIs } = await recorded({ lamps: 1_000, rounds: 4 });
  const [present, quiet] = [lampType('full'), lampType('full', { isLoud: () => false })];
  let taken = 0;
  let found = 0;
  for (let n = 0; n < 1_000; n++) {
    const turns = await turnsOf(n);
    const same = replay(turns, [present], whereIs(n));
    expect(same).toMatchObject({ kind: 'equal' });
    taken += same.turns;
    const changed = replay(turns, [quiet], whereIs(n));
    const turn = firstLoudRing(turns);
    if (turn === undefined) {
      expect(changed).toMatchObject({ kind: 'equal' });
      continue;
    }
    found++;
    // The changed lamp also appends to its transcript.
    expect(changed).toMatchObject({ kind: 'differs', turn, recorded: { sent: [] } });
    expect(changed.kind === 'differs' && changed.replayed['sent']).toHaveLength(1);
  }
  expect(taken).toBeGreaterThan(4_000);
  expect(found).toBeGreaterThan(100);
}, 90_000);

it('a recording that begins in the middle of a life is taken from its first row on', async () => {
  const { turnsOf, whereIs } = await recorded({ lamps: 50, rounds: 12 });
  const turns = (await turnsOf(1)).slice(3);
  const result = replay(turns, [lampType('full')], whereIs(1));
  expect(result).toMatchObject({ kind: 'equal' });
  expect(result.turns).toBeGreaterThan(5);
});
