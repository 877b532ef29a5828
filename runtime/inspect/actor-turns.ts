/**
 * Follows the turns of one actor: its inputs, results and sent messages, read from the journal of
 * its shard. Only committed records count; no other process is involved.
 */
import { type Address, shardOf } from '../../protocols/address.ts';
import { decode } from '../../protocols/codec.ts';
import { defined } from '../../protocols/defined.ts';
import { journalSubject, mailboxSubject } from '../../protocols/subjects.ts';
import { decodeActorRow } from '../shard/turn/actor-row.ts';
import type { Fold } from '../shard/commit/fold.ts';
import { TABLE } from '../shard/commit/fold.ts';
import { decodeIntent } from '../shard/turn/intents.ts';
import { loadShard } from '../shard/recovery/load.ts';
import {
  decodeMail,
  decodeRecord,
  type JournalRecord,
  type OutItem,
  type Turn,
} from '../shard/commit/records.ts';
import type { Stashed } from '../shard/turn/stash.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { Store } from '../create-system.ts';

export type ActorTurn = {
  readonly turn: number;
  /** shard time, milliseconds */
  readonly at: number;
  /** type of the event, `timer NAME`, or `outcome of EFFECT` */
  readonly input: string;
  readonly from?: string;
  readonly result: string;
  readonly why?: string;
  /** state value after the turn; absent if the turn did not change the actor */
  readonly state?: unknown;
  /** messages sent and entries appended */
  readonly sent: readonly { readonly to: string; readonly type: string }[];
};

/** Logs without an owning actor, to which a turn appends. */
const logNames = { dlq: 'the dead letters', transcript: 'its transcript' };

type JournalSource = {
  readonly store: Store;
  readonly blobs: Blobs;
  readonly env: string;
  readonly shards: number;
};

/**
 * Every turn of the actor from now on, until `signal` is aborted.
 * @throws TroupeError when the shard's journal cannot be read
 */
export async function* turnsOf(
  actor: Address,
  { store, blobs, env, shards }: JournalSource,
  signal: AbortSignal,
): AsyncGenerator<ActorTurn> {
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
        const record = decodeRecord(bytes, position);
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

/** Describes inputs, for which it keeps the stash and intent rows of earlier turns. */
class TurnReader {
  readonly #actor: Address;
  readonly #fold: Fold;
  readonly #place: { store: JournalSource['store']; env: string; shard: number };
  /** stash and intent rows since the start */
  readonly #rows = new Map<string, Uint8Array>();

  constructor(
    actor: Address,
    fold: Fold,
    place: { store: JournalSource['store']; env: string; shard: number },
  ) {
    this.#actor = actor;
    this.#fold = fold;
    this.#place = place;
  }

  async *read(record: JournalRecord): AsyncGenerator<ActorTurn> {
    if (record.t !== 'TURNS') return;
    for (const turn of record.turns) {
      if (turn.actor === this.#actor) yield await this.#show(turn, record.now);
      this.#remember(turn);
    }
  }

  async #show(turn: Turn, at: number): Promise<ActorTurn> {
    const row = turn.puts.find(([table, key]) => table === TABLE.actor && key === this.#actor)?.[2];
    return {
      turn: turn.turnNo,
      at,
      ...(await this.#inputOf(turn)),
      result: turn.result,
      ...defined({ why: turn.why }),
      ...defined({ state: row ? decodeActorRow(row).row.snap.v : turn.state }),
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
    // The owner trims its mailbox behind itself, so the entry may no longer exist.
    if (entry?.position !== position) return { input: `mail ${ref}` };
    const mail = decodeMail(entry.bytes, position);
    if (mail.kind === 'outcome') {
      const row = this.#row(TABLE.intent, mail.intent);
      const effect = row ? decodeIntent(row).src : mail.intent;
      return { input: `outcome of ${effect}: ${mail.outcome.kind}` };
    }
    const item = mail.kind === 'client' ? mail.item : mail.items[index];
    return item ? messageOf(item) : { input: `mail ${ref}` };
  }

  /** A stashed message: its row is removed in the turn that processes it. */
  #stashed({ puts }: Turn) {
    const taken = puts.find(([table, , value]) => table === TABLE.stash && value === null);
    const row = taken && this.#row(TABLE.stash, taken[1]);
    const stashed = row && decode<Stashed>(row);
    if (!stashed) return { input: 'a stashed message' };
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
