/**
 * Turns as the journal of a shard has them, with what each of them processed: the message is read
 * from the mailbox; effects, timers and stashed messages are found in rows that earlier records of
 * the journal wrote. What was trimmed is not known.
 */
import { decode } from '../../protocols/codec.ts';
import { journalSubject, mailboxSubject } from '../../protocols/subjects.ts';
import type { Lane } from '../../protocols/statechart.ts';
import type { Log, LogEntry, Position } from '../log/log.ts';
import { TABLE } from '../shard/commit/fold.ts';
import type { OpenTurn } from '../shard/commit/group.ts';
import {
  decodeMail,
  decodeRecord,
  type JournalRecord,
  type MailEntry,
  type OutItem,
  type RowPut,
  type Turn,
} from '../shard/commit/records.ts';
import { decodeIntent } from '../shard/turn/intents.ts';
import type { Stashed } from '../shard/turn/stash.ts';
import type { TurnSource } from '../shard/turn/turn-source.ts';

export type JournalOf = {
  readonly log: Log;
  readonly env: string;
  readonly shard: number;
};

/** The turns of one record. */
export type JournalTurns = {
  readonly position: Position;
  readonly now: number;
  readonly turns: readonly OpenTurn[];
};

export type JournalRange = {
  /** only records behind this position */
  readonly after: Position;
  /** only records before this position */
  readonly before?: Position;
  /** only turns of this actor */
  readonly actor?: string;
};

/** Journal that is decoded in one turn of the event loop. */
const SLICE_BYTES = 512 * 1024;
const MAIL_PAGE = 256;

/** @throws TroupeError when the journal or the mailbox cannot be read */
export async function* turnsOfJournal(
  of: JournalOf,
  range: JournalRange,
): AsyncGenerator<JournalTurns> {
  const { after, before = Number.POSITIVE_INFINITY, actor } = range;
  const sources = new Sources(of, actor === undefined ? MAIL_PAGE : 1);
  for await (const { position, record } of countingRecords(of, before)) {
    if (record.t !== 'TURNS') continue;
    const turns: OpenTurn[] = [];
    for (const turn of record.turns) {
      if (position > after && (actor === undefined || turn.actor === actor))
        turns.push({ ...turn, source: await sources.of(turn) });
      sources.apply(turn.puts);
    }
    sources.apply(record.puts);
    if (turns.length > 0) yield { position, now: record.now, turns };
  }
}

type Counting = { readonly position: Position; readonly record: JournalRecord };

/** From the first record that is there; void ones are left out (C4). */
async function* countingRecords(
  { log, env, shard }: JournalOf,
  end: Position,
): AsyncGenerator<Counting> {
  let last = 0;
  let slice = 0;
  for (;;) {
    const entries = await log.read(journalSubject(env, shard), last + 1);
    for (const { position, bytes } of entries) {
      if (position >= end) return;
      const record = decodeRecord(bytes, position);
      if (record.prev >= last) yield { position, record };
      last = position;
      slice += bytes.length;
      if (slice < SLICE_BYTES) continue;
      slice = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (entries.length === 0) return;
  }
}

/** Finds what a turn processed. */
class Sources {
  readonly #of: JournalOf;
  readonly #page: number;
  readonly #mail = new Map<Lane, MailPage>();
  /** stash, intent and timer rows, by table and key */
  readonly #rows = new Map<string, Uint8Array>();

  /** @param page mailbox entries that are read at once */
  constructor(of: JournalOf, page: number) {
    this.#of = of;
    this.#page = page;
  }

  apply(puts: readonly RowPut[]): void {
    for (const [table, key, value] of puts) {
      if (table !== TABLE.stash && table !== TABLE.intent && table !== TABLE.timer) continue;
      if (value) this.#rows.set(`${table}\0${key}`, value);
      else this.#rows.delete(`${table}\0${key}`);
    }
  }

  async of(turn: Turn): Promise<TurnSource | undefined> {
    const kind = turn.input[0];
    const rest = turn.input.slice(1);
    if (kind === 't') return this.#timer(rest);
    if (kind === 's') return this.#stashed(rest);
    return this.#message(kind === 'c' ? 'control' : 'data', rest, turn);
  }

  #timer(id: string): TurnSource | undefined {
    const row = this.#rows.get(`${TABLE.timer}\0${id}`);
    return row && { kind: 'timer', name: Buffer.from(row).toString() };
  }

  #stashed(key: string): TurnSource | undefined {
    const row = this.#rows.get(`${TABLE.stash}\0${key}`);
    if (!row) return undefined;
    const stashed = decode<Stashed>(row);
    return stashed.kind === 'message'
      ? { kind: 'message', item: stashed.item }
      : { kind: 'event', event: stashed.event };
  }

  async #message(lane: Lane, ref: string, turn: Turn): Promise<TurnSource | undefined> {
    const [position = 0, index = 0] = ref.split('.').map(Number);
    const entry = await this.#entry(lane, position);
    if (!entry) return undefined;
    const mail = decodeMail(entry.bytes, position);
    if (mail.kind === 'outcome') return this.#outcome(mail);
    const item = mail.kind === 'client' ? delivered(mail, entry, turn) : mail.items[index];
    return item && { kind: 'message', item };
  }

  #outcome({ intent: id, attempt, outcome }: Extract<MailEntry, { kind: 'outcome' }>): TurnSource {
    const row = this.#rows.get(`${TABLE.intent}\0${id}`);
    return { kind: 'outcome', id, attempt, outcome, ...(row && { intent: decodeIntent(row) }) };
  }

  async #entry(lane: Lane, position: Position): Promise<LogEntry | undefined> {
    let page = this.#mail.get(lane);
    if (!page || position < page.from || position > page.to) {
      const { log, env, shard } = this.#of;
      const subject = mailboxSubject(env, shard, lane);
      const entries = await log.read(subject, position, { limit: this.#page });
      page = {
        from: position,
        to: entries.at(-1)?.position ?? position,
        entries: new Map(entries.map((entry) => [entry.position, entry])),
      };
      this.#mail.set(lane, page);
    }
    return page.entries.get(position);
  }
}

type MailPage = {
  readonly from: Position;
  readonly to: Position;
  readonly entries: ReadonlyMap<Position, LogEntry>;
};

/** A client's message as its turn received it (`onClientEntry`). */
function delivered(
  { item, key, ttlMs, acceptedAt }: Extract<MailEntry, { kind: 'client' }>,
  { logTimeMs }: LogEntry,
  { puts }: Turn,
): OutItem {
  const deadline = (acceptedAt ?? logTimeMs) + ttlMs;
  const row = key === undefined ? undefined : puts.find(([table]) => table === TABLE.key);
  if (!row) return { ...item, deadline };
  return { ...item, deadline, reply: { id: item.id, ...item.reply, key: row[1] } };
}
