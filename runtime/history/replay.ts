/**
 * Replay: takes the recorded turns of one actor again, with the code that takes turns in a shard,
 * and compares each with what was recorded. Times, numbers, messages and outcomes come from the
 * recording, so nothing is sent, started or timed: an effect that a turn requests is answered by
 * the outcome that was recorded.
 *
 * What a machine did not decide (repeats, expired messages, timers that were dropped) is not taken
 * again; its rows are taken over. So is the first row, where the recording begins in the middle of
 * an actor's life.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Address, isAddress } from '../../protocols/address.ts';
import { decode, encode } from '../../protocols/codec.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { ActorDefinition } from '../actor/definition.ts';
import { createRegistry, type Registry } from '../actor/registry.ts';
import { Fold, TABLE } from '../shard/commit/fold.ts';
import { Group, type OpenTurn } from '../shard/commit/group.ts';
import { findDueTimer, onTimer } from '../shard/input/due-timers.ts';
import { byMachine } from '../shard/input/input-handlers.ts';
import { onOutcome } from '../shard/input/outcomes.ts';
import { onStashed } from '../shard/input/unstash.ts';
import { DEFAULT_LIMITS } from '../shard/limits.ts';
import { ActivatedActors } from '../shard/turn/activated-actors.ts';
import { type ActorRow, decodeActorRow, PendingRow } from '../shard/turn/actor-row.ts';
import { decodeIntent, encodeIntent } from '../shard/turn/intents.ts';
import { Keys } from '../shard/turn/keys.ts';
import { intentId, timerId } from '../shard/turn/requests.ts';
import { type Stashed, waitingOf } from '../shard/turn/stash.ts';
import {
  type ShardParts,
  type TurnContext,
  type TurnWorld,
  writeTurn,
} from '../shard/turn/turn-context.ts';
import type { Verdict } from '../shard/commit/group.ts';
import { MemoryState } from '../state/memory.ts';
import type { FullTurn } from './full-turns.ts';

/** Where the turns were taken: their ids contain it. */
export type RecordedIn = {
  readonly cell: string;
  readonly shard: number;
  readonly shards: number;
  readonly supervisor?: Address;
};

/** What a turn did, as it is compared. */
export type TurnFacts = Readonly<Record<string, unknown>>;

export type Replayed =
  /** `turns` were taken again; `kept` were taken over, because no machine decided them */
  | { readonly kind: 'equal'; readonly turns: number; readonly kept: number }
  | {
      readonly kind: 'differs';
      readonly turns: number;
      readonly kept: number;
      /** number of the first turn that differs */
      readonly turn: number;
      readonly at: number;
      readonly input: string;
      /** only what differs */
      readonly recorded: TurnFacts;
      readonly replayed: TurnFacts;
    };

/**
 * @param turns of one actor, oldest first
 * @throws TroupeError NOT_FOUND when its type is not among the definitions
 */
export function replay(
  turns: readonly FullTurn[],
  definitions: readonly ActorDefinition[],
  where: RecordedIn,
): Replayed {
  const registry = createRegistry(definitions);
  const machine = turns.find(({ turn }) => turn.machine !== '')?.turn.machine;
  const type = machine?.split('@')[0];
  if (type !== undefined && !registry.latest(type))
    throw new TroupeError('NOT_FOUND', `there is no definition of the actor type ${type}`);
  const stage = new Stage(registry, where);
  const counts = { turns: 0, kept: 0 };
  for (const full of turns) {
    const made = stage.take(full);
    if (!made) {
      counts.kept++;
      continue;
    }
    counts.turns++;
    const { turn: again, row } = made;
    const [recorded, replayed] = differing(
      factsOf(full.turn, rowIn(full.turn)),
      factsOf(again, row),
    );
    if (Object.keys(recorded).length === 0 && Object.keys(replayed).length === 0) continue;
    const { turnNo: turn, input } = full.turn;
    return { kind: 'differs', ...counts, turn, at: full.now, input, recorded, replayed };
  }
  return { kind: 'equal', ...counts };
}

/** A turn, and the row of its actor after it. */
type Taken = { readonly turn: OpenTurn; readonly row: ActorRow | undefined };

/** The rows of one actor, in memory, and the code of a shard on them. */
export class Stage {
  readonly #fold: Fold;
  readonly #parts: ShardParts & { readonly residents: ActivatedActors };
  readonly #registry: Registry;
  #now = 0;
  /** the actor's row is known, or it does not exist yet */
  #isKnown = false;
  readonly #created: number | undefined;

  /** @param created number of the turn that created the actor, if it is known */
  constructor(registry: Registry, { supervisor, ...where }: RecordedIn, created?: number) {
    this.#registry = registry;
    this.#created = created;
    const { cell, shard, shards } = where;
    this.#fold = Fold.empty(shard, new MemoryState(), false, cell);
    const world: TurnWorld = {
      ...where,
      registry,
      limits: DEFAULT_LIMITS,
      ...(supervisor ? { supervisor } : {}),
    };
    const residents = new ActivatedActors({
      fold: this.#fold,
      keys: new Keys(this.#fold),
      shards,
      max: 1_000,
      registry,
      now: () => this.#now,
    });
    this.#parts = { world, fold: this.#fold, residents };
  }

  /** The turn taken again; undefined if it was taken over as it was recorded. */
  take(full: FullTurn): Taken | undefined {
    const { now, aheadMs, turn } = full;
    this.#now = now;
    this.#isKnown ||= isFirst(turn) || turn.turnNo === this.#created;
    const run = this.#isKnown && isDecidedByMachine(turn) ? this.#runOf(turn) : undefined;
    if (!run) return this.#takeOver(turn);
    this.#fold.scalars.turnNo = turn.turnNo - 1;
    const time = { now: () => now, aheadMs: () => aheadMs, stampLagMs: () => 0 };
    const group = new Group(this.#fold, time, new Set());
    writeTurn(this.#parts, group, turn.input, run);
    // A turn that also stored a key may have written a row that did not change.
    const row = this.#fold.get(TABLE.actor, turn.actor);
    return { turn: group.turns[0]!, row: row && decodeActorRow(row) };
  }

  #takeOver(turn: OpenTurn): undefined {
    for (const put of turn.puts) this.#fold.put(put);
    if (!isAddress(turn.actor)) return undefined;
    this.#parts.residents.drop(turn.actor);
    const row = rowIn(turn);
    if (!row || this.#isKnown) return undefined;
    this.#isKnown = true;
    this.#restorePending(turn.actor, row);
  }

  /** Effects and timers of a row that was taken over, whose own rows are from before. */
  #restorePending(actor: Address, { machine, life, row }: ActorRow): void {
    const { effects = {} } = this.#registry.exact(machine) ?? {};
    for (const [job, { key, src, settled }] of Object.entries(row.jobs)) {
      const intent = { actor, machine, job, key, src, cls: effects[src]?.class ?? 'repeatable' };
      const open = { state: 'open', attempt: 1, epoch: 0, at: 0, input: null } as const;
      const id = intentId(actor, life, key);
      if (!settled && !this.#fold.get(TABLE.intent, id))
        this.#fold.put([TABLE.intent, id, encodeIntent({ ...intent, ...open })]);
    }
    for (const [name, { key, due, fired }] of Object.entries(row.timers))
      if (!fired) this.#fold.put([TABLE.timer, timerId(due, actor, life, key), Buffer.from(name)]);
  }

  #runOf({ source, input, actor }: OpenTurn): ((t: TurnContext) => Verdict) | undefined {
    if (input.startsWith('s')) return this.#stashed(input.slice(1), source, actor);
    switch (source?.kind) {
      case 'message':
        return (t) => byMachine.message(t, source.item);
      case 'outcome': {
        const { id: intent, attempt, outcome } = source;
        if (source.intent) {
          const row = encodeIntent({ ...source.intent, input: null });
          this.#fold.put([TABLE.intent, intent, row]);
        }
        return (t) => onOutcome(t, { intent, attempt, outcome }, byMachine);
      }
      case 'timer':
        return this.#timer(input.slice(1), source.name);
      default:
        return undefined;
    }
  }

  #timer(id: string, name: string): ((t: TurnContext) => Verdict) | undefined {
    this.#fold.put([TABLE.timer, id, Buffer.from(name)]);
    const timer = findDueTimer(this.#parts, id);
    const timing = { since: 0, time: { skippedMs: () => 0 } };
    return timer && ((t) => onTimer(t, timer, timing, byMachine));
  }

  #stashed(
    key: string,
    source: OpenTurn['source'],
    actor: string,
  ): ((t: TurnContext) => Verdict) | undefined {
    if (!isAddress(actor)) return undefined;
    if (!this.#fold.get(TABLE.stash, key) && source?.kind === 'message') {
      const stashed: Stashed = { kind: 'message', item: source.item };
      this.#fold.put([TABLE.stash, key, encode(stashed)]);
      this.#parts.residents.drop(actor);
    }
    const resident = this.#parts.residents.find(actor);
    if (!resident) return undefined;
    const n = Number.parseInt(key.slice(key.lastIndexOf('|') + 1), 36);
    const index = waitingOf(this.#fold, resident).findIndex((waiting) => waiting.n === n);
    return index < 0 ? undefined : (t) => onStashed(t, { key, resident, index }, byMachine);
  }
}

/** Results that the runtime decided before any machine was asked, by time or by key. */
const BEFORE_MACHINE: ReadonlySet<string> = new Set(['duplicate', 'expired', 'poison', 'dropped']);

const isDecidedByMachine = ({ result }: OpenTurn): boolean => !BEFORE_MACHINE.has(result);

/** Whether the actor was created by this turn, so nothing before it matters. */
function isFirst(turn: OpenTurn): boolean {
  return rowIn(turn)?.life === turn.turnNo;
}

/** The row of the actor that the turn wrote. */
export function rowIn({ puts, actor }: OpenTurn): ActorRow | undefined {
  const put = puts.find(([table, key]) => table === TABLE.actor && key === actor);
  const value = put?.[2];
  if (!value) return undefined;
  return value instanceof PendingRow ? value.row : decodeActorRow(value);
}

/** By table: rows that are compared as they are decoded. Those of keys are not recorded. */
const COMPARED: ReadonlySet<string> = new Set([TABLE.intent, TABLE.timer, TABLE.stash]);

/** What is compared: everything that the turn decided, without its place in links. */
function factsOf(turn: OpenTurn, row: ActorRow | undefined): TurnFacts {
  const removed = turn.puts.some(
    ([table, key, value]) => table === TABLE.actor && key === turn.actor && value === null,
  );
  return {
    result: turn.result,
    why: turn.why,
    state: row ? row.row.snap.v : turn.state,
    ...(row ? { row: plain({ ...row, machine: undefined }) } : {}),
    removed,
    sent: plain(turn.out.map(([target, lane, , item]) => ({ target, lane, item }))),
    rows: plain(turn.puts.flatMap(rowFacts).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function rowFacts([table, key, value]: OpenTurn['puts'][number]): [string, unknown][] {
  if (!COMPARED.has(table) && !table.startsWith('ix:')) return [];
  const name = `${table} ${key}`;
  if (value === null || value instanceof PendingRow) return [[name, null]];
  if (table === TABLE.timer) return [[name, Buffer.from(value).toString()]];
  if (table !== TABLE.intent) return [[name, decode(value)]];
  const { machine: _, ...intent } = decodeIntent(value);
  return [[name, intent]];
}

/** As it is stored and read: without undefined fields. */
const plain = (value: unknown): unknown => decode(encode(JSON.parse(JSON.stringify(value))));

function differing(recorded: TurnFacts, replayed: TurnFacts): [TurnFacts, TurnFacts] {
  const names = Object.keys({ ...recorded, ...replayed }).filter((name) => {
    // The row of a turn may be with a later turn of its record; then its state says what it was.
    if (name === 'row' && recorded[name] === undefined) return false;
    if (name === 'state' && recorded[name] === undefined) return false;
    return !isDeepStrictEqual(recorded[name], replayed[name]);
  });
  const only = (facts: TurnFacts) =>
    Object.fromEntries(names.map((name) => [name, facts[name] ?? null]));
  return [only(recorded), only(replayed)];
}
