/**
 * TurnSources: finds what a turn processed, of which its record has a reference only. The message
 * is read from the mailbox; effects, timers and stashed messages are found in rows that earlier
 * records of the journal wrote. What was trimmed is not known.
 */
import { decode } from '../../protocols/codec.ts';
import { defined } from '../../protocols/defined.ts';
import type { Lane } from '../../protocols/statechart.ts';
import { mailboxSubject } from '../../protocols/subjects.ts';
import type { Log, LogEntry, Position } from '../log/log.ts';
import { TABLE } from '../shard/commit/fold.ts';
import { CorruptRecord } from '../shard/commit/record-format.ts';
import {
  decodeMail,
  type MailEntry,
  type OutItem,
  type RowPut,
  type Turn,
} from '../shard/commit/records.ts';
import { type OutcomeReport, reportOfInput } from '../shard/input/outcome-queue.ts';
import { decodeIntent, type Intent } from '../shard/turn/intents.ts';
import type { Stashed } from '../shard/turn/stash.ts';
import type { TurnSource } from '../shard/turn/turn-source.ts';

export type ShardLog = {
  readonly log: Log;
  readonly env: string;
  readonly shard: number;
};

export class TurnSources {
  readonly #of: ShardLog;
  readonly #page: number;
  readonly #mail = new Map<Lane, MailPage>();
  /** stash, intent and timer rows, by table and key */
  readonly #rows = new Map<string, Uint8Array>();

  /** @param page mailbox entries that are read at once */
  constructor(of: ShardLog, page: number) {
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

  /** An open effect. @param id as `Turn.puts` has it */
  intent(id: string): Intent | undefined {
    const row = this.#rows.get(`${TABLE.intent}\0${id}`);
    return row && decodeIntent(row);
  }

  /** Undefined for what was trimmed. @throws TroupeError when the mailbox cannot be read */
  async of(turn: Turn): Promise<TurnSource | undefined> {
    const kind = turn.input[0];
    const rest = turn.input.slice(1);
    if (kind === 't') return this.#timer(rest);
    if (kind === 's') return this.#stashed(rest);
    if (kind === 'o') {
      const { input, outcome } = turn;
      return outcome && this.#outcome({ ...reportOfInput(input), outcome });
    }
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
    const mail = readable(entry);
    if (!mail) return undefined;
    if (mail.kind === 'outcome') return this.#outcome(mail);
    const item = mail.kind === 'client' ? delivered(mail, entry, turn) : mail.items[index];
    return item && { kind: 'message', item };
  }

  #outcome({ intent: id, attempt, outcome }: OutcomeReport): TurnSource {
    return { kind: 'outcome', id, attempt, outcome, ...defined({ intent: this.intent(id) }) };
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

/** Undefined for an entry whose turn wrote an unreadable dead letter (E5). */
function readable({ bytes, position }: LogEntry): MailEntry | undefined {
  try {
    return decodeMail(bytes, position);
  } catch (error) {
    if (error instanceof CorruptRecord) return undefined;
    throw error;
  }
}

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

/** How an input is shown when it is not known any more. @param ref as `Turn.input` */
export function unknownInput(ref: string): string {
  if (ref.startsWith('t')) return 'a timer';
  return ref.startsWith('s') ? 'a stashed message' : `mail ${ref.slice(1)}`;
}
