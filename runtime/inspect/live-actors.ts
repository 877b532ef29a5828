/**
 * The actors of a running system for operators: lists, single actors, and their turns as they are
 * committed. It reads committed rows and the journal, activates no actor and writes nothing. An
 * actor without watchers causes no work.
 */
import { type Address, shardOf } from '../../protocols/address.ts';
import type {
  ActorEffect,
  ActorSummary,
  ActorView,
  StashedMessage,
} from '../../protocols/actor-view.ts';
import { decode } from '../../protocols/codec.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Registry } from '../actor/registry.ts';
import type { Hosting } from '../hosting.ts';
import type { Log } from '../log/log.ts';
import { type ActorRow, decodeActorRow, isPaused } from '../shard/turn/actor-row.ts';
import { TABLE } from '../shard/commit/fold.ts';
import { decodeIntent, type Intent } from '../shard/turn/intents.ts';
import { type Stashed, stashKey } from '../shard/turn/stash.ts';
import type { ReadableState } from '../state/checked-reads.ts';
import { compareUtf8 } from '../state/row.ts';
import { load } from '../statechart/host.ts';
import type { Actors, ShardStatus } from '../system.ts';
import { HistoryReader } from '../history/reader.ts';
import type { HistoryRules } from '../history/policy.ts';
import { packFullTurns } from '../history/full-turns.ts';
import { readPastActor } from '../history/past-actor.ts';
import type { RecordedIn } from '../history/replay.ts';
import { detailOf, showTurns } from '../history/show-turns.ts';
import type { TurnSummary } from '../history/summary.ts';
import { turnsOf } from './actor-turns.ts';

export type LiveActorsOptions = {
  readonly log: Log;
  readonly state: ReadableState;
  readonly registry: Registry;
  readonly env: string;
  readonly shards: number;
  readonly cell: string;
  /** of actors without one of their own */
  readonly supervisor: Address | undefined;
  readonly history: HistoryRules;
  readonly wallMs: () => number;
  readonly hosting: () => Pick<Hosting, 'catchesUp' | 'readsAll' | 'statusOf'>;
  /** labels that the effect requires and no process has, as text */
  readonly unmetLabels: (intent: Intent) => string | undefined;
};

const LIST_MAX = 1_000;
const HISTORY_PAGE = 100;
/** Older turns that are read at most to find the state before the oldest one shown. */
const OLDER_MAX = 1_000;
const STASH_MAX = 100;
const EFFECTS_MAX = 1_000;
/** Greater than every character a key may hold. */
const AFTER_ALL = '\u{10FFFF}';

export class LiveActors implements Actors {
  readonly #o: LiveActorsOptions;
  readonly #history: HistoryReader;

  constructor(options: LiveActorsOptions) {
    this.#o = options;
    this.#history = new HistoryReader({ ...options, rules: options.history });
  }

  readonly list: Actors['list'] = async (tenant, { type, after, limit = LIST_MAX } = {}) => {
    const { state, shards, hosting } = this.#o;
    await hosting().readsAll();
    const prefix = type === undefined ? `${tenant}/` : `${tenant}/${type}/`;
    const from = after === undefined || after < prefix ? prefix : `${after}\0`;
    const range = { from, to: `${prefix}${AFTER_ALL}`, limit };
    const statuses = Array.from({ length: shards }, (_, shard) => hosting().statusOf(shard));
    return Array.from({ length: shards }, (_, shard) => state.range(shard, TABLE.actor, range))
      .flat()
      .toSorted((a, b) => compareUtf8(a.key, b.key))
      .slice(0, limit)
      .map(({ key, value }) =>
        summaryOf(key, decodeActorRow(value), statuses[shardOf(key as Address, shards)]),
      );
  };

  readonly get: Actors['get'] = async (actor, { context = false } = {}) => {
    const { state, shards, hosting } = this.#o;
    const shard = shardOf(actor, shards);
    await hosting().catchesUp(shard);
    const bytes = state.get(shard, TABLE.actor, actor);
    if (!bytes) return undefined;
    const row = decodeActorRow(bytes);
    const {
      effects: _,
      timers: __,
      stashed: ___,
      ...summary
    } = summaryOf(actor, row, hosting().statusOf(shard));
    const view: ActorView = {
      ...summary,
      ...defined({ why: row.why?.message, supervisor: row.supervisor }),
      accepts: this.#acceptedBy(row),
      effects: this.#effectsOf(shard, actor),
      timers: openTimers(row).map(({ event, due }) => ({ event: event.type, due })),
      stash: this.#stashOf(shard, actor, row),
      shard: this.#shardView(shard),
      ...(context ? { context: row.row.snap.c } : {}),
    };
    return view;
  };

  readonly turns: Actors['turns'] = async (actor, signal, { context = false } = {}) => {
    const { hosting, shards } = this.#o;
    const shard = shardOf(actor, shards);
    await hosting().catchesUp(shard);
    return turnsOf(actor, { ...this.#o, shard, context }, signal);
  };

  readonly history: Actors['history'] = async (actor, { before, limit = HISTORY_PAGE } = {}) => {
    if (!(Number.isInteger(limit) && limit >= 1))
      throw new TroupeError(
        'INVALID_ARGUMENT',
        `limit is ${limit}, it must be a whole number from 1`,
      );
    const found = await this.#turnsBefore(actor, before, limit);
    const turns = found.slice(0, limit);
    return {
      kept: this.#history.policyOf(actor).keep,
      turns: showTurns(turns, found.slice(limit), this.#o.registry),
      ...(found.length > limit ? { next: turns.at(-1)!.turn } : {}),
    };
  };

  readonly turn: Actors['turn'] = async (actor, number, { context = false } = {}) => {
    const found = await this.#turnsBefore(actor, number + 1, 1);
    if (found[0]?.turn !== number) return undefined;
    const [shown] = showTurns(found.slice(0, 1), found.slice(1), this.#o.registry);
    const full = await this.#history.turn(actor, number);
    return { ...shown!, ...(full && detailOf(full, context)) };
  };

  readonly past: Actors['past'] = (actor, turn) =>
    readPastActor(actor, turn, {
      history: this.#history,
      registry: this.#o.registry,
      where: this.#recordedIn(actor),
    });

  #recordedIn(actor: Address): RecordedIn {
    const { cell, shards, supervisor } = this.#o;
    return { cell, shard: shardOf(actor, shards), shards, ...defined({ supervisor }) };
  }

  readonly recording: Actors['recording'] = async (actor) => {
    const turns = await this.#history.turnsWithBodies(actor);
    return {
      ...this.#recordedIn(actor),
      turns: turns.length,
      bytes: packFullTurns(turns).toString('base64'),
    };
  };

  /** Newest first, of the turns before a number; and older ones up to one with a state. */
  async #turnsBefore(
    actor: Address,
    before = Number.POSITIVE_INFINITY,
    limit: number,
  ): Promise<TurnSummary[]> {
    const found: TurnSummary[] = [];
    for await (const turn of this.#history.newestFirst(actor)) {
      if (turn.turn >= before) continue;
      found.push(turn);
      const older = found.length - limit;
      if (older === OLDER_MAX || (older > 0 && turn.state !== undefined)) break;
    }
    return found;
  }

  /** The types of all messages that a state of the present configuration handles. */
  #acceptedBy({ machine, status, row }: ActorRow): readonly string[] {
    const definition = this.#o.registry.exact(machine);
    if (!definition || status !== 'active' || row.snap.s !== 'active') return [];
    const { _nodes: nodes } = load(definition.machine, row).snapshot;
    const types = nodes.flatMap(({ ownEvents }) => ownEvents);
    return [...new Set(types)].filter((type) => !type.startsWith('xstate.')).toSorted();
  }

  #effectsOf(shard: number, actor: Address): readonly ActorEffect[] {
    const range = { from: `${actor}|`, to: `${actor}|${AFTER_ALL}`, limit: EFFECTS_MAX };
    return this.#o.state.range(shard, TABLE.intent, range).map(({ key: id, value }) => {
      const intent = decodeIntent(value);
      const { src: effect, state, attempt, at: since } = intent;
      const lacks = state === 'started' ? undefined : this.#o.unmetLabels(intent);
      return { id, effect, state, attempt, since, ...defined({ lacks }) };
    });
  }

  #shardView(shard: number): ActorView['shard'] {
    const { state = 'unowned', node, why } = this.#o.hosting().statusOf(shard) ?? {};
    return { shard, state, ...defined({ node, why }) };
  }

  #stashOf(shard: number, actor: Address, row: ActorRow): readonly StashedMessage[] {
    const range = {
      from: stashKey(actor, row.stashFirst),
      to: stashKey(actor, row.stashEnd),
      limit: STASH_MAX,
    };
    return this.#o.state.range(shard, TABLE.stash, range).map(({ value }) => {
      const stashed = decode<Stashed>(value);
      if (stashed.kind === 'cause') return { type: stashed.event.type };
      const { event, from, principal } = stashed.item;
      return { type: event.type, ...defined({ from: from ?? principal?.sub }) };
    });
  }
}

const summaryOf = (actor: string, found: ActorRow, shard?: ShardStatus): ActorSummary => ({
  actor,
  machine: found.machine,
  status: statusOf(found),
  state: found.row.snap.v,
  steps: found.row.seq,
  shardLag: shard?.lag ?? 0,
  ...((shard?.lagUnknown ?? shard === undefined) ? { shardLagUnknown: true } : {}),
  effects: Object.values(found.row.jobs).filter(({ settled }) => !settled).length,
  timers: openTimers(found).length,
  stashed: found.stashEnd - found.stashFirst,
});

function statusOf(found: ActorRow): string {
  if (isPaused(found)) return 'paused';
  const { s: ofMachine } = found.row.snap;
  return found.status === 'active' && ofMachine !== 'active' ? ofMachine : found.status;
}

const openTimers = ({ row }: Pick<ActorRow, 'row'>) =>
  Object.values(row.timers).filter(({ fired }) => !fired);
