/**
 * Follows the turns of one actor: its inputs, results and sent messages, read from the journal of
 * its shard. Only committed records count; no other process is involved.
 */
import { type AnyMachineSnapshot, getMicrosteps } from 'xstate';
import type { ActorTurn } from '../../protocols/actor-view.ts';
import type { Address } from '../../protocols/address.ts';
import { decode } from '../../protocols/codec.ts';
import { defined } from '../../protocols/defined.ts';
import { journalSubject, mailboxSubject } from '../../protocols/subjects.ts';
import type { Registry } from '../actor/registry.ts';
import type { Follow, Log, Position } from '../log/log.ts';
import { type ActorRow, decodeActorRow } from '../shard/turn/actor-row.ts';
import { TABLE } from '../shard/commit/fold.ts';
import { decodeIntent } from '../shard/turn/intents.ts';
import {
  decodeMail,
  decodeRecord,
  type JournalRecord,
  type MailEntry,
  type OutItem,
  type Turn,
} from '../shard/commit/records.ts';
import type { Stashed } from '../shard/turn/stash.ts';
import type { ReadableState } from '../state/checked-reads.ts';
import { timerName } from '../statechart/facts.ts';
import { type Cause, failed, fired, load, settled } from '../statechart/host.ts';

/** Logs without an owning actor, to which a turn appends. */
const logNames = { dlq: 'the dead letters', transcript: 'its transcript' };
const ROWS_MAX = 10_000;

type TurnSource = {
  readonly log: Log;
  readonly state: ReadableState;
  readonly registry: Pick<Registry, 'exact'>;
  readonly env: string;
  /** of the actor */
  readonly shard: number;
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
  source: TurnSource,
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
  readonly #o: TurnSource;
  /** stash and intent rows by key */
  readonly #rows = new Map<string, Uint8Array>();
  #row: ActorRow | undefined;
  #known: Known | undefined;
  /** State may be ahead of the first record that is read. */
  #isCurrent = false;

  constructor(actor: Address, source: TurnSource) {
    this.#actor = actor;
    this.#o = source;
    const { state, shard } = source;
    const bytes = state.get(shard, TABLE.actor, actor);
    this.#takeRow(bytes && decodeActorRow(bytes));
    const range = { from: `${actor}|`, to: `${actor}|\u{10FFFF}`, limit: ROWS_MAX };
    for (const table of [TABLE.stash, TABLE.intent])
      for (const { key, value } of state.range(shard, table, range)) this.#rows.set(key, value);
  }

  async *read(record: JournalRecord): AsyncGenerator<ActorTurn> {
    if (record.t !== 'TURNS') return;
    for (const turn of record.turns) {
      if (turn.actor !== this.#actor) continue;
      yield await this.#show(turn, record.now);
      for (const [table, key, value] of turn.puts) {
        if (table !== TABLE.stash && table !== TABLE.intent) continue;
        if (value) this.#rows.set(key, value);
        else this.#rows.delete(key);
      }
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
        value && (!isCurrent || !this.#rows.has(key)) ? [decodeIntent(value).src] : [],
      ),
      ended: intents.flatMap(([, key, value]) => {
        const intent = value === null ? this.#rows.get(key) : undefined;
        return intent ? [decodeIntent(intent).src] : [];
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
    const kind = turn.input[0];
    if (kind === 't') return this.#timer(turn.input.slice(1), now);
    if (kind === 's') return this.#stashed(turn, now);
    return this.#mail(kind === 'c' ? 'control' : 'data', turn.input.slice(1), now);
  }

  async #mail(lane: 'data' | 'control', ref: string, now: number): Promise<Input> {
    const { log, env, shard } = this.#o;
    const [position = 0, index = 0] = ref.split('.').map(Number);
    const subject = mailboxSubject(env, shard, lane);
    const [entry] = await log.read(subject, position, { limit: 1 });
    // The owner trims its mailbox behind itself, so the entry may no longer exist.
    if (entry?.position !== position) return { input: `mail ${ref}` };
    const mail = decodeMail(entry.bytes, position);
    if (mail.kind === 'outcome') return this.#outcome(mail, now);
    const item = mail.kind === 'client' ? mail.item : mail.items[index];
    return item ? messageOf(item, now) : { input: `mail ${ref}` };
  }

  #outcome({ intent, outcome }: Extract<MailEntry, { kind: 'outcome' }>, now: number): Input {
    const bytes = this.#rows.get(intent);
    if (!bytes) return { input: `outcome of an effect: ${outcome.kind}` };
    const { src, job, key, traceId } = decodeIntent(bytes);
    const input = `outcome of ${src}: ${outcome.kind}`;
    const meta = { id: intent, now, self: this.#actor, ...defined({ traceId }) };
    if (outcome.kind === 'done')
      return { input, cause: settled(job, key, outcome.output, meta).event };
    if (outcome.kind === 'failed')
      return { input, cause: failed(job, key, outcome.error, meta).event };
    return { input };
  }

  /** @param id as `timerId` makes it */
  #timer(id: string, now: number): Input {
    const known = this.#row;
    const timers = Object.entries(known?.row.timers ?? {});
    const [timer] = timers.find(([, { key }]) => id.endsWith(`.${key}`)) ?? [];
    if (known === undefined || timer === undefined) return { input: 'a timer' };
    const machine = this.#o.registry.exact(known.machine)?.machine;
    const name = (machine && timerName(machine, timer)) ?? timer;
    const meta = { id, now, self: this.#actor };
    return { input: `timer ${name}`, cause: fired(known.row, timer, '', meta).event };
  }

  /** A stashed message: its row is removed in the turn that processes it. */
  #stashed({ puts }: Turn, now: number): Input {
    const taken = puts.find(([table, , value]) => table === TABLE.stash && value === null);
    const row = taken && this.#rows.get(taken[1]);
    const stashed = row && decode<Stashed>(row);
    if (!stashed) return { input: 'a stashed message' };
    if (stashed.kind === 'message') return messageOf(stashed.item, now);
    return { input: stashed.event.type, cause: stashed.event };
  }
}

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
