/**
 * Actor turns: what an actor takes in and what becomes of it, read from the journal of its shard as
 * it grows. The truth itself: a turn is shown when its record counts, and no other process is
 * asked.
 */
import { type Address, shardOf } from '../protocols/address.ts';
import { decode } from '../protocols/codec.ts';
import { defined } from '../protocols/defined.ts';
import { journalSubject, mailboxSubject } from '../protocols/subjects.ts';
import { decodeActorRow } from '../runtime/shard/actor-row.ts';
import type { Fold } from '../runtime/shard/fold.ts';
import { TABLE } from '../runtime/shard/fold.ts';
import { decodeIntent } from '../runtime/shard/intents.ts';
import { loadShard } from '../runtime/shard/load.ts';
import {
  decodeMail,
  decodeRecord,
  type JournalRecord,
  type OutItem,
  type Turn,
} from '../runtime/shard/records.ts';
import type { Stashed } from '../runtime/shard/stash.ts';
import type { ClusterLink } from './cluster-link.ts';

export type ShownTurn = {
  readonly turn: number;
  /** shard time, milliseconds */
  readonly at: number;
  /** an event's type; `timer NAME`, `outcome of EFFECT` */
  readonly input: string;
  readonly from?: string;
  readonly result: string;
  readonly why?: string;
  /** of the machine, after the turn; absent where the turn did not change the actor */
  readonly state?: unknown;
  /** messages that it sent, and entries that it appended */
  readonly sent: readonly { readonly to: string; readonly type: string }[];
};

/** What a turn appends to logs that no actor owns. */
const logNames = { dlq: 'the dead letters', transcript: 'its transcript' };

type Where = Pick<ClusterLink, 'store' | 'blobs' | 'env' | 'shards'>;

/**
 * Every turn of the actor from now on, until `signal` is aborted. @throws TroupeError when the
 * shard's journal can not be read
 */
export async function* turnsOf(
  actor: Address,
  { store, blobs, env, shards }: Where,
  signal: AbortSignal,
): AsyncGenerator<ShownTurn> {
  const shard = shardOf(actor, shards);
  const journal = journalSubject(env, shard);
  const { log, state, cell } = store;
  const loaded = await loadShard({ log, state, blobs, journal, shard, cell });
  const reader = new TurnReader(actor, loaded.fold, { store, env, shard });
  const follow = log.follow(journal, loaded.last + 1);
  const close = () => follow.close();
  signal.addEventListener('abort', close);
  try {
    for (let before = loaded.last; !signal.aborted; ) {
      const entries = await follow.next();
      if (entries.length === 0) return;
      for (const { position, bytes } of entries) {
        const record = decodeRecord(bytes);
        const counts = record.prev === before;
        before = position;
        if (counts) yield* reader.read(record);
      }
    }
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}

/** Tells what an input was; it remembers the rows that say so. */
class TurnReader {
  readonly #actor: Address;
  readonly #fold: Fold;
  readonly #place: { store: Where['store']; env: string; shard: number };
  /** stash and intent rows since the start */
  readonly #rows = new Map<string, Uint8Array>();

  constructor(
    actor: Address,
    fold: Fold,
    place: { store: Where['store']; env: string; shard: number },
  ) {
    this.#actor = actor;
    this.#fold = fold;
    this.#place = place;
  }

  async *read(record: JournalRecord): AsyncGenerator<ShownTurn> {
    if (record.t !== 'TURNS') return;
    for (const turn of record.turns) {
      if (turn.actor === this.#actor) yield await this.#show(turn, record.now);
      this.#remember(turn);
    }
  }

  async #show(turn: Turn, at: number): Promise<ShownTurn> {
    const row = turn.puts.find(([table, key]) => table === TABLE.actor && key === this.#actor)?.[2];
    return {
      turn: turn.turnNo,
      at,
      ...(await this.#inputOf(turn)),
      result: turn.result,
      ...defined({ why: turn.why }),
      ...(row ? { state: decodeActorRow(row).row.snap.v } : {}),
      sent: turn.out.map(([target, , , { to, event }]) => ({
        to: typeof target === 'number' ? to : logNames[target],
        type: event.type,
      })),
    };
  }

  async #inputOf(turn: Turn): Promise<{ input: string; from?: string }> {
    const kind = turn.input[0];
    if (kind === 't')
      return { input: `timer ${turn.input.slice(1).replace(`${this.#actor}|`, '')}` };
    if (kind === 's') return this.#stashed(turn);
    return this.#mail(kind === 'c' ? 'control' : 'data', turn.input.slice(1));
  }

  async #mail(lane: 'data' | 'control', ref: string) {
    const { store, env, shard } = this.#place;
    const [position = 0, index = 0] = ref.split('.').map(Number);
    const subject = mailboxSubject(env, shard, lane);
    const [entry] = await store.log.read(subject, position, { limit: 1 });
    // A mailbox is trimmed behind its owner; what was there is told by the turn's effect only.
    if (entry?.position !== position) return { input: `mail ${ref}` };
    const mail = decodeMail(entry.bytes);
    if (mail.kind === 'outcome') {
      const row = this.#row(TABLE.intent, mail.intent);
      const effect = row ? decodeIntent(row).src : mail.intent;
      return { input: `outcome of ${effect}: ${mail.outcome.kind}` };
    }
    const item = mail.kind === 'client' ? mail.item : mail.items[index];
    return item ? messageOf(item) : { input: `mail ${ref}` };
  }

  /** A message that waited: its row leaves with the turn that takes it. */
  #stashed({ puts }: Turn) {
    const taken = puts.find(([table, , value]) => table === TABLE.stash && value === null);
    const row = taken && this.#row(TABLE.stash, taken[1]);
    const stashed = row && decode<Stashed>(row);
    if (!stashed) return { input: 'something that waited' };
    return stashed.kind === 'message' ? messageOf(stashed.item) : { input: stashed.event.type };
  }

  #remember({ puts }: Turn): void {
    for (const [table, key, value] of puts) {
      if (table !== TABLE.stash && table !== TABLE.intent) continue;
      if (value) this.#rows.set(`${table}\0${key}`, value);
      else this.#rows.delete(`${table}\0${key}`);
    }
  }

  #row(table: string, key: string): Uint8Array | undefined {
    return this.#rows.get(`${table}\0${key}`) ?? this.#fold.get(table, key);
  }
}

const messageOf = ({ event, from, principal }: OutItem) => {
  const sender = from ?? principal?.sub;
  return { input: event.type, ...defined({ from: sender }) };
};
