/**
 * Follows the turns of one actor: its inputs, results and sent messages, read from the journal of
 * its shard. Only committed records count; no other process is involved.
 */
import { type AnyMachineSnapshot, getMicrosteps } from 'xstate';
import type { ActorTurn } from '../../protocols/actor-view.ts';
import type { Address } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import { journalSubject } from '../../protocols/subjects.ts';
import type { Registry } from '../actor/registry.ts';
import type { Follow, Position } from '../log/log.ts';
import { type ActorRow, decodeActorRow } from '../shard/turn/actor-row.ts';
import { TABLE } from '../shard/commit/fold.ts';
import { decodeIntent } from '../shard/turn/intents.ts';
import {
  decodeRecord,
  type JournalRecord,
  type OutItem,
  type Turn,
} from '../shard/commit/records.ts';
import { timerId } from '../shard/turn/requests.ts';
import type { TurnSource } from '../shard/turn/turn-source.ts';
import { type ShardLog, TurnSources, unknownInput } from './turn-sources.ts';
import type { ReadableState } from '../state/checked-reads.ts';
import { timerName } from '../statechart/facts.ts';
import { type Cause, failed, fired, load, settled } from '../statechart/host.ts';

/** Logs without an owning actor, to which a turn appends. */
const logNames = { dlq: 'the dead letters', transcript: 'its transcript' };
const ROWS_MAX = 10_000;

/** `shard` is that of the actor. */
type Watched = ShardLog & {
  readonly state: ReadableState;
  readonly registry: Pick<Registry, 'exact'>;
  /** with contexts */
  readonly context: boolean;
};

/**
 * Every turn of the actor that is committed after this promise has resolved, until `signal` is
 * aborted.
 * @throws TroupeError when the journal of the shard cannot be read
 */
export async function turnsOf(
  actor: Address,
  source: Watched,
  signal: AbortSignal,
): Promise<AsyncIterable<ActorTurn>> {
  const { log, env, shard } = source;
  const journal = journalSubject(env, shard);
  const last = await log.last(journal);
  const reader = new TurnReader(actor, source);
  const follow = log.follow(journal, last + 1);
  // Also a stream that is never read ends with the signal.
  if (signal.aborted) follow.close();
  else signal.addEventListener('abort', () => follow.close(), { once: true });
  return turnsIn(follow, last, reader);
}

async function* turnsIn(
  follow: Follow,
  last: Position,
  reader: TurnReader,
): AsyncGenerator<ActorTurn> {
  try {
    for (let before = last; ; ) {
      const entries = await follow.next();
      if (entries.length === 0) return;
      for (const { position, bytes } of entries) {
        const record = decodeRecord(bytes, position);
        const counts = record.prev === before;
        before = position;
        if (counts) yield* reader.read(record);
      }
    }
  } finally {
    follow.close();
  }
}

/** Describes turns, for which it keeps the rows of the actor as the last turn left them. */
class TurnReader {
  readonly #actor: Address;
  readonly #o: Watched;
  readonly #sources: TurnSources;
  #row: ActorRow | undefined;
  #known: Known | undefined;
  /** State may be ahead of the first record that is read. */
  #isCurrent = false;

  constructor(actor: Address, source: Watched) {
    this.#actor = actor;
    this.#o = source;
    this.#sources = new TurnSources(source, 1);
    const { state, shard } = source;
    const bytes = state.get(shard, TABLE.actor, actor);
    const row = bytes && decodeActorRow(bytes);
    this.#takeRow(row);
    const range = { from: `${actor}|`, to: `${actor}|\u{10FFFF}`, limit: ROWS_MAX };
    for (const table of [TABLE.stash, TABLE.intent])
      this.#sources.apply(
        state.range(shard, table, range).map(({ key, value }) => [table, key, value]),
      );
    const timers = Object.entries(row?.row.timers ?? {});
    this.#sources.apply(
      timers.map(([name, { due, key }]) => [
        TABLE.timer,
        timerId(due, actor, row?.life ?? 0, key),
        Buffer.from(name),
      ]),
    );
  }

  async *read(record: JournalRecord): AsyncGenerator<ActorTurn> {
    if (record.t !== 'TURNS') return;
    for (const turn of record.turns) {
      if (turn.actor !== this.#actor) continue;
      yield await this.#show(turn, record.now);
      this.#sources.apply(turn.puts);
    }
  }

  async #show(turn: Turn, at: number): Promise<ActorTurn> {
    const { cause, ...input } = await this.#inputOf(turn, at);
    const intents = turn.puts.filter(([table]) => table === TABLE.intent);
    const isCurrent = this.#isCurrent;
    return {
      turn: turn.turnNo,
      at,
      ...input,
      ...defined({ event: cause?.type }),
      result: turn.result,
      ...defined({ why: turn.why }),
      ...this.#statesOf(turn, cause),
      sent: turn.out.map(([target, , , { to, event }]) => ({
        to: typeof target === 'number' ? to : logNames[target],
        type: event.type,
      })),
      opened: intents.flatMap(([, key, value]) =>
        // State may have had the effects of the first turn already.
        value && (!isCurrent || !this.#sources.intent(key)) ? [decodeIntent(value).src] : [],
      ),
      ended: intents.flatMap(([, key, value]) => {
        const intent = value === null ? this.#sources.intent(key) : undefined;
        return intent ? [intent.src] : [];
      }),
    };
  }

  /**
   * States before, after and in between. The row of a turn may be with a later one of its record.
   */
  #statesOf(turn: Turn, cause: Cause['event'] | undefined) {
    const put = turn.puts.find(([table, key]) => table === TABLE.actor && key === this.#actor);
    const row = put?.[2] ? decodeActorRow(put[2]) : undefined;
    const after = row ? row.row.snap.v : turn.state;
    const known = this.#known;
    const taken =
      turn.result === 'applied' && known && cause ? this.#microsteps(known, cause) : undefined;
    const last = taken?.at(-1);
    const fits = last !== undefined && isSameState(last.value, after);
    const isBefore = this.#isCurrent || fits || isNextOf(this.#row, row, turn);
    if (put) this.#takeRow(row);
    else if (turn.state !== undefined)
      this.#known = { machine: turn.machine, state: after, ...(fits ? { snapshot: last } : {}) };
    if (put || turn.state !== undefined) this.#isCurrent = true;
    return defined({
      before: isBefore ? known?.state : undefined,
      state: after,
      status: row?.row.snap.s,
      context: this.#o.context ? row?.row.snap.c : undefined,
      path: fits ? taken?.map(({ value }): unknown => value) : undefined,
    });
  }

  #takeRow(row: ActorRow | undefined): void {
    this.#row = row;
    this.#known = row && { machine: row.machine, state: row.row.snap.v, row };
  }

  /** Takes the turn again, to see its transitions one by one; undefined if that is not possible. */
  #microsteps(
    { machine, snapshot, row }: Known,
    cause: Cause['event'],
  ): readonly AnyMachineSnapshot[] | undefined {
    const definition = this.#o.registry.exact(machine);
    if (!definition) return undefined;
    try {
      const from = snapshot ?? (row && load(definition.machine, row.row).snapshot);
      if (!from) return undefined;
      return getMicrosteps(definition.machine, from, cause).map(([each]) => each);
    } catch {
      // Functions of the machine may need what only the host has.
      return undefined;
    }
  }

  async #inputOf(turn: Turn, now: number): Promise<Input> {
    const source = await this.#sources.of(turn);
    switch (source?.kind) {
      case undefined:
        return { input: unknownInput(turn.input) };
      case 'message':
        return messageOf(source.item, now);
      case 'event':
        return { input: source.event.type, cause: source.event };
      case 'timer':
        return this.#timer(source.name, now);
      case 'outcome':
        return this.#outcome(source, now);
    }
  }

  #outcome({ id, intent, outcome }: OutcomeSource, now: number): Input {
    if (!intent) return { input: `outcome of an effect: ${outcome.kind}` };
    const { src, job, key, traceId } = intent;
    const input = `outcome of ${src}: ${outcome.kind}`;
    const meta = { id, now, self: this.#actor, ...defined({ traceId }) };
    if (outcome.kind === 'done')
      return { input, cause: settled(job, key, outcome.output, meta).event };
    if (outcome.kind === 'failed')
      return { input, cause: failed(job, key, outcome.error, meta).event };
    return { input };
  }

  #timer(timer: string, now: number): Input {
    const known = this.#row;
    const machine = known && this.#o.registry.exact(known.machine)?.machine;
    const input = `timer ${(machine && timerName(machine, timer)) ?? timer}`;
    if (known?.row.timers[timer] === undefined) return { input };
    const meta = { id: timer, now, self: this.#actor };
    return { input, cause: fired(known.row, timer, '', meta).event };
  }
}

type OutcomeSource = Extract<TurnSource, { kind: 'outcome' }>;

/**
 * An actor after a turn; with the snapshot of its machine, unless that is to be read from its row.
 */
type Known = {
  readonly machine: string;
  readonly state: unknown;
  readonly row?: ActorRow;
  readonly snapshot?: AnyMachineSnapshot;
};

/** Whether the second row is the first one after this turn. */
const isNextOf = (
  known: ActorRow | undefined,
  row: ActorRow | undefined,
  { result }: Turn,
): boolean => {
  if (!known || !row || known.life !== row.life) return false;
  return row.row.seq - known.row.seq === (result === 'stashed' ? 0 : 1);
};

const isSameState = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** `cause`: the event as the machine received it, as far as it is known */
type Input = Pick<ActorTurn, 'input' | 'from'> & { readonly cause?: Cause['event'] };

const messageOf = (item: OutItem, now: number): Input => {
  const { id, to, event, from, principal, reply, traceId } = item;
  const meta = { id, now, self: to, ...defined({ from, reply, principal, traceId }) };
  return {
    input: event.type,
    ...defined({ from: from ?? principal?.sub }),
    cause: { ...event, meta },
  };
};
