/**
 * PastActor: an actor as one of its kept turns left it. The row is the one that the turn wrote.
 * Where later turns of the same record changed the actor again, only the last of them has its row:
 * then the turns in between are taken again, as in a replay.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Address } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Registry } from '../actor/registry.ts';
import type { PastActor } from '../system.ts';
import type { ActorRow } from '../shard/turn/actor-row.ts';
import type { FullTurn } from './full-turns.ts';
import type { HistoryReader } from './reader.ts';
import { type RecordedIn, rowIn, Stage } from './replay.ts';

type Reading = {
  readonly history: HistoryReader;
  readonly registry: Registry;
  readonly where: RecordedIn;
};

/** @throws TroupeError NOT_FOUND when the turn is not kept, or the actor did not exist after it */
export async function readPastActor(
  actor: Address,
  turnNo: number,
  { history, registry, where }: Reading,
): Promise<PastActor> {
  const turns = await history.shownWithBodies(actor);
  const index = turns.findIndex(({ turn }) => turn.turnNo === turnNo);
  if (index < 0) throw notKept(actor, turnNo, { turns, keep: history.policyOf(actor).keep });
  const upTo = turns.slice(0, index + 1);
  const row = rowAfter(turns, index, { registry, where });
  if (!row)
    throw notFound(
      `the state of ${actor} after turn ${turnNo} is not known: its turn before is not kept`,
    );
  return {
    turn: turnNo,
    at: upTo.at(-1)!.now,
    context: contextOf(row, registry),
    ...defined({ appended: appendedBy(upTo) }),
  };
}

/** The row after the turn at this index. */
function rowAfter(
  turns: readonly FullTurn[],
  index: number,
  { registry, where }: Pick<Reading, 'registry' | 'where'>,
): ActorRow | undefined {
  const upTo = turns.slice(0, index + 1);
  const from = upTo.findLastIndex(({ turn }) => rowIn(turn) !== undefined);
  const written = from < 0 ? undefined : rowIn(upTo[from]!.turn);
  const changed = upTo.slice(from + 1).findLast(({ turn }) => turn.state !== undefined);
  // A turn that left the actor as it was has no state.
  if (!changed) return written;
  const stage = new Stage(registry, where, createdBy(turns));
  let row = written;
  for (const full of upTo.slice(Math.max(0, from))) row = stage.take(full)?.row ?? row;
  return isDeepStrictEqual(row?.row.snap.v, changed.turn.state) ? row : undefined;
}

/** The turn that created the actor, as its first row says. */
function createdBy(turns: readonly FullTurn[]): number | undefined {
  const first = turns.find(({ turn }) => rowIn(turn) !== undefined);
  return first && rowIn(first.turn)?.life;
}

function contextOf({ machine, row }: ActorRow, registry: Registry): unknown {
  const [type = '', version] = machine.split('@');
  const migrate = registry.latest(type)?.migrate[Number(version)];
  return (migrate ? migrate(row) : row).snap.c;
}

function appendedBy(turns: readonly FullTurn[]): PastActor['appended'] {
  const entriesOf = ({ turn }: FullTurn) =>
    turn.out.filter(([target]) => target === 'transcript').length;
  const last = turns.findLast((full) => entriesOf(full) > 0);
  return last && { turn: last.turn.turnNo, entries: entriesOf(last) };
}

function notKept(
  actor: Address,
  turnNo: number,
  { turns, keep }: { turns: readonly FullTurn[]; keep: string },
): TroupeError {
  const [oldest] = turns;
  if (!oldest)
    return notFound(`no turns of ${actor} are kept with their bodies (history: ${keep})`);
  const { now, turn } = oldest;
  if (turnNo < turn.turnNo)
    return notFound(
      `turn ${turnNo} of ${actor} is not kept: its history goes back to turn ${turn.turnNo}, ${new Date(now).toISOString()}`,
    );
  const before = turns.findLast((full) => full.turn.turnNo < turnNo)!.turn.turnNo;
  return notFound(`${actor} has no turn ${turnNo}: the last one before is ${before}`);
}

const notFound = (message: string) => new TroupeError('NOT_FOUND', message);
