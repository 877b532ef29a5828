/** Numbers that a group assigns while its turns run: they must equal those of the later fold. */
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { Fold } from '../../../runtime/shard/commit/fold.ts';
import { Draft, Group } from '../../../runtime/shard/commit/group.ts';
import type { JournalRecord, LinkTarget } from '../../../runtime/shard/commit/records.ts';
import { decodeActorRow, PendingRow } from '../../../runtime/shard/turn/actor-row.ts';
import { MemoryState } from '../../../runtime/state/memory.ts';

const ACTOR = address('t', 'a', 'k');
const facts = (input: string) => ({
  input,
  actor: ACTOR,
  machine: 'a@1',
  result: 'applied' as const,
});

const drafted = (...targets: LinkTarget[]): Draft => {
  const draft = new Draft();
  for (const target of targets)
    draft.send(target, 'data', { to: ACTOR, id: 'i', event: { type: 'e' }, hops: 0 });
  return draft;
};

const newFold = () => Fold.empty(0, new MemoryState(), true, 'cell');
const newGroup = (fold: Fold, now = 5) =>
  new Group(fold, { now: () => now, aheadMs: () => 0, stampLagMs: () => 0 }, new Set());

function rowAfter(seq: number): PendingRow {
  const snap = { s: 'active', v: `after ${seq}`, c: { text: 'x'.repeat(1_000) } };
  const row = { seq, snap, jobs: {}, timers: {} };
  const beside = { machine: 'a@1', status: 'active', life: 1, crashes: [] } as const;
  return new PendingRow({ ...beside, stashFirst: 0, stashEnd: 0, row });
}

/** The record of a group, as its owner would seal it, folded. */
const seal = (fold: Fold, group: Group): void => {
  const { puts, mailFloor, ctlFloor, keyNow, linkIn, now } = group;
  const head = { cell: 'cell', recId: 'r', epoch: 1, prev: 1, now };
  const said = { turns: group.sealed(), puts, mailFloor, ctlFloor, keyNow, linkIn, outFloor: [] };
  const record: JournalRecord = { t: 'TURNS', ...head, ...said };
  fold.applyScalars(record, 100);
  fold.seal();
};

describe('a group numbers', () => {
  it('turns from the end of the fold, without a gap between groups', () => {
    const fold = newFold();
    const first = newGroup(fold);
    first.finish(drafted(), facts('m1.0'));
    first.finish(drafted(), facts('m2.0'));
    expect(first.turns.map(({ turnNo }) => turnNo)).toEqual([1, 2]);
    seal(fold, first);
    const second = newGroup(fold);
    second.finish(drafted(), facts('m3.0'));
    expect(second.turns.map(({ turnNo }) => turnNo)).toEqual([3]);
  });

  it('each link separately, from one, without a gap between turns and groups', () => {
    const fold = newFold();
    const first = newGroup(fold);
    first.finish(drafted(1, 2, 1), facts('m1.0'));
    first.finish(drafted(1, 'dlq'), facts('m2.0'));
    const numbersOf = (group: Group) =>
      group.turns.flatMap(({ out }) => out.map(([target, , n]) => `${target}:${n}`));
    expect(numbersOf(first)).toEqual(['1:1', '2:1', '1:2', '1:3', 'dlq:1']);
    seal(fold, first);
    const second = newGroup(fold);
    second.finish(drafted(2, 1), facts('m3.0'));
    expect(numbersOf(second)).toEqual(['2:2', '1:4']);
  });

  it('nothing for a dropped draft', () => {
    const group = newGroup(newFold());
    drafted(1, 1);
    group.finish(drafted(1), facts('m1.0'));
    expect(group.turns[0]!.out[0]![2]).toBe(1);
  });
});

describe('a group', () => {
  it('has the row of an actor once, encoded once, with the last turn that wrote it', () => {
    const fold = newFold();
    const group = newGroup(fold);
    const rows = [1, 2, 3].map((seq) => rowAfter(seq));
    const sizes = rows.map((row, n) => {
      const draft = drafted();
      draft.put('actor', ACTOR, row);
      draft.put('intent', `i${n}`, Buffer.from('intent'));
      group.finish(draft, facts(`m${n}.0`));
      return group.bytes;
    });
    expect(sizes[2]! - sizes[1]!).toBeLessThan(rows[2]!.bytes.length);
    const turns = group.sealed();
    expect(turns.map(({ puts }) => puts.map(([table]) => table))).toEqual([
      ['intent'],
      ['intent'],
      ['actor', 'intent'],
    ]);
    expect(turns.map(({ state }) => state)).toEqual(['after 1', 'after 2', undefined]);
    const stored = turns[2]!.puts[0]![2]!;
    expect(decodeActorRow(stored).row.seq).toBe(3);
    expect(fold.get('actor', ACTOR)).toBe(stored);
    expect(fold.seal().puts.find(({ table }) => table === 'actor')?.value).toBe(stored);
  });

  it('has both rows of an actor when the first one was encoded in its turn', () => {
    const group = newGroup(newFold());
    for (const row of [rowAfter(1).bytes, rowAfter(2), null]) {
      const draft = drafted();
      draft.put('actor', ACTOR, row);
      group.finish(draft, facts('m1.0'));
    }
    const puts = group.sealed().map((turn) => turn.puts.map(([, , value]) => value?.length ?? 0));
    expect(puts).toEqual([[rowAfter(1).bytes.length], [], [0]]);
  });

  it('shows the rows of a turn to later turns, and to none after its fold is dropped', () => {
    const state = new MemoryState();
    const fold = Fold.empty(0, state, true, 'cell');
    const group = newGroup(fold);
    const draft = drafted();
    draft.put('actor', ACTOR, Buffer.from('row'));
    group.finish(draft, facts('m1.0'));
    expect(fold.get('actor', ACTOR)).toEqual(Buffer.from('row'));
    expect(Fold.empty(0, state, true, 'cell').get('actor', ACTOR)).toBeUndefined();
  });

  it('needs a record when a floor moved, even without a turn', () => {
    const group = newGroup(newFold());
    expect(group.dirty).toBe(false);
    group.mailFloor = 1;
    expect(group.dirty).toBe(true);
  });

  it('accepts link numbers from the state of the fold', () => {
    const fold = newFold();
    const group = newGroup(fold);
    expect(group.accepted('3/data')).toBe(0);
    group.accept('3/data', 1);
    group.finish(drafted(), facts('m1.0'));
    expect(group.accepted('3/data')).toBe(1);
    seal(fold, group);
    expect(newGroup(fold).accepted('3/data')).toBe(1);
    expect(newGroup(fold).accepted('3/control')).toBe(0);
  });

  it('has a time not below that of the previous record', () => {
    const fold = newFold();
    seal(fold, newGroup(fold, 100));
    expect(newGroup(fold, 50).now).toBe(100);
    expect(newGroup(fold, 150).now).toBe(150);
  });
});
