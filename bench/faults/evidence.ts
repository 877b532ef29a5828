/**
 * Evidence: one row for each message and effect of a scenario, with the places where NATS stored
 * it. The account is counted from these rows, so that a person can count again without the auditor.
 */
import type { AccountRow } from '../../loadtest/faults/rows.ts';
import { journalSubject, mailboxSubject } from '../../protocols/subjects.ts';
import type { Stored } from '../../test/sim/sim-log.ts';
import { decodeMail, decodeRecord } from '../../runtime/shard/commit/records.ts';
import type { Auditor, Fate, Request } from '../../test/sim/auditor.ts';
import { isStashed, lasts } from '../../test/sim/closing.ts';
import type { Began } from './effects.ts';
import { ENV } from './worker.ts';

/** Where an entry is stored: a subject of a stream of NATS, and its position there. */
export type Place = {
  readonly subject: string;
  readonly position: number;
  /** by the clock of NATS, ISO 8601 */
  readonly storedAt: string;
};

/** A committed turn that processed the message. */
export type TurnRow = {
  readonly shard: number;
  readonly turnNo: number;
  /** `applied`, `refused`, `expired`, `crashed`, `stashed` or another result */
  readonly result: string;
  readonly why?: string;
  /** nothing more happens to the message */
  readonly final: boolean;
  /** the result is stored under the key of the request: it may exist once */
  readonly lasting: boolean;
  readonly record?: Place;
};

/** A copy of a client's request that a mailbox accepted; a repeat without a response makes more. */
export type CopyRow = {
  readonly id: string;
  readonly entry?: Place;
  readonly turns: readonly TurnRow[];
  /** a dead letter that ended it while it waited */
  readonly letter?: string;
};

export type RequestRow = {
  readonly kind: 'request';
  readonly uid: string;
  readonly client: string;
  readonly to: string;
  readonly keyed: boolean;
  readonly sentAt: string;
  /** the last response that the client received; `unsure`: none, a copy may be stored */
  readonly outcome: Request['outcome'];
  /** `trimmed`: its records were removed behind a snapshot, `count` rows account for it */
  readonly copies: readonly CopyRow[] | 'trimmed';
};

/** A message from an actor to another one. */
export type MessageRow = {
  readonly kind: 'message';
  readonly id: string;
  readonly type: string;
  readonly from: string;
  readonly to: string;
  /** the turn that sent it */
  readonly sentBy: { readonly shard: number; readonly turnNo: number };
  readonly turns: readonly TurnRow[];
  readonly letter?: string;
  /** it waits in the stash of an actor that receives nothing now */
  readonly waits: boolean;
};

/** The external action of an effect, as the world outside recorded it. */
export type EffectRow = {
  readonly kind: 'effect';
  readonly id: string;
  /** `once`, `keyed` or `repeatable` */
  readonly cls: string;
  readonly starts: number;
  /** decisions to start it again */
  readonly again: number;
};

/** Asks to a counting actor whose records are trimmed. */
export type CountRow = {
  readonly kind: 'count';
  readonly actor: string;
  readonly accepted: number;
  /** asks without a response: each may be counted or not */
  readonly unsure: number;
  readonly counted: number;
};

export type Row = RequestRow | MessageRow | EffectRow | CountRow | AccountRow;

/** Remembers where entries are stored while a tape plays them. */
export class Places {
  readonly #entries = new Map<string, Place>();
  readonly #turns = new Map<string, Place>();
  readonly #ids = new Map<string, string>();
  readonly #copies = new Map<string, string[]>();

  readonly played = ({ subject, position, bytes, logTimeMs }: Stored): void => {
    const place = { subject, position, storedAt: new Date(logTimeMs).toISOString() };
    if (subject.startsWith('mbx.')) {
      const entry = decodeMail(bytes);
      const ids: string[] = [];
      if (entry.kind === 'client') {
        const uid = String(entry.item.event['uid']);
        ids.push(entry.item.id);
        this.#copies.set(uid, [...(this.#copies.get(uid) ?? []), entry.item.id]);
      } else if (entry.kind === 'links') ids.push(...entry.items.map(({ id }) => id));
      for (const id of ids) {
        this.#entries.set(id, place);
        this.#ids.set(`${subject} ${position}`, id);
      }
    } else if (subject.startsWith('jrn.')) {
      const record = decodeRecord(bytes);
      if (record.t !== 'TURNS') return;
      for (const { turnNo } of record.turns) this.#turns.set(`${subject} ${turnNo}`, place);
    }
  };

  entryOf(id: string): Place | undefined {
    return this.#entries.get(id);
  }

  /** Ids of the stored copies of a request. */
  copiesOf(uid: string): readonly string[] {
    return this.#copies.get(uid) ?? [];
  }

  recordOf(subject: string, turnNo: number): Place | undefined {
    return this.#turns.get(`${subject} ${turnNo}`);
  }

  /** The id of a message by its mailbox. @param input as a turn names it, `m12` or `c3.0` */
  idAt(shard: number, input: string): string | undefined {
    const subject = mailboxSubject(ENV, shard, input.startsWith('c') ? 'control' : 'data');
    return this.#ids.get(`${subject} ${Number.parseInt(input.slice(1), 10)}`);
  }
}

export type Evidence = {
  readonly auditor: Auditor;
  readonly places: Places;
  /** by uid of a request, when it was sent first: ISO 8601 */
  readonly sentAt: ReadonlyMap<string, string>;
  readonly effects: readonly Began[];
};

/** The rows of a scenario whose logs were kept. Call it after the tape has played everything. */
export function rowsOf(evidence: Evidence): Row[] {
  const { auditor } = evidence;
  return [
    ...[...auditor.requests.values()].map((one) => requestRow(evidence, one)),
    ...messageRows(evidence),
    ...effectRows(evidence),
  ];
}

function requestRow(evidence: Evidence, request: Request): RequestRow {
  const { auditor, places } = evidence;
  const { uid } = request;
  const ids = new Set([...places.copiesOf(uid), ...auditor.copiesOf(uid)]);
  const copies = [...ids].map((id) => {
    const [entry, letter] = [places.entryOf(id), auditor.letterOf(id)];
    return {
      id,
      ...(entry && { entry }),
      turns: turnsOf(evidence, id),
      ...(letter && { letter }),
    };
  });
  return { ...headOf(evidence, request), copies };
}

/** A request without what the logs say about it. */
export function headOf(
  { sentAt }: Pick<Evidence, 'sentAt'>,
  { uid, client, to, keyed, outcome }: Request,
): Omit<RequestRow, 'copies'> {
  return { kind: 'request', uid, client, to, keyed, sentAt: sentAt.get(uid) ?? '', outcome };
}

function* messageRows(evidence: Evidence): Generator<MessageRow> {
  const { auditor } = evidence;
  const { ledger } = auditor;
  for (const { shard, outs } of ledger.shards)
    for (const [link, sent] of outs) {
      if (Number.isNaN(Number(link.split('/')[0]))) continue;
      for (const { turnNo, item } of sent) {
        const letter = auditor.letterOf(item.id);
        yield {
          kind: 'message',
          id: item.id,
          type: item.event.type,
          from: item.from ?? 'the runtime',
          to: item.to,
          sentBy: { shard, turnNo },
          turns: turnsOf(evidence, item.id),
          ...(letter && { letter }),
          waits: auditor.endsOf(item.id).length === 0 && isStashed(ledger, item),
        };
      }
    }
}

const turnsOf = ({ auditor, places }: Evidence, id: string): TurnRow[] =>
  auditor.fatesOf(id).map((fate: Fate) => {
    const { shard, turn } = fate.view;
    const record = places.recordOf(journalSubject(ENV, shard), turn.turnNo);
    return {
      shard,
      turnNo: turn.turnNo,
      result: fate.result,
      ...(turn.why !== undefined && { why: turn.why }),
      final: fate.final,
      lasting: lasts(fate),
      ...(record && { record }),
    };
  });

function effectRows({ auditor, effects }: Evidence): EffectRow[] {
  const starts = new Map<string, { cls: string; starts: number }>();
  for (const { intent, cls } of effects)
    starts.set(intent, { cls, starts: (starts.get(intent)?.starts ?? 0) + 1 });
  return [...starts].map(([id, one]) => {
    return { kind: 'effect', id, ...one, again: auditor.starts.get(id)?.again ?? 0 };
  });
}
