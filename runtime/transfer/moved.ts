/**
 * What changes when a shard moves to another log. Positions are valid in one log only. Times,
 * numbers of turns and links, keys and ids stay unchanged.
 */
import { decode, encode } from '../../protocols/codec.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Lane } from '../../protocols/statechart.ts';
import type { StoredAudit } from '../resolution-log.ts';
import type { Position } from '../log/log.ts';
import { type Scalars, TABLE } from '../shard/commit/fold.ts';
import { decodeIntent, encodeIntent } from '../shard/turn/intents.ts';
import { DEAD_LETTER_DOMAIN } from '../shard/commit/relay.ts';
import { CorruptRecord } from '../shard/commit/record-format.ts';
import { decodeMail, encodeMail, type MailEntry } from '../shard/commit/records.ts';
import type { TableRow } from '../state/state.ts';

/** The new positions of the entries of a shard's mailboxes. */
export type NewPlaces = {
  /** positions right before the first entry that has no turn yet */
  readonly mailFloor: Position;
  readonly ctlFloor: Position;
  /** new position of an entry of the old log; undefined for one that was applied */
  find(lane: Lane, old: Position): Position | undefined;
};

/**
 * The scalars as they are before the first record of the new journal. A log that is atomic settles
 * links as it commits and counts nothing; a relay counts, so all that was sent is settled here.
 */
export function moveScalars(old: Scalars, places: NewPlaces): Scalars {
  const { snapshot: _, ...scalars } = old;
  const settled = Object.entries(old.linkOut).map(([link, next]) => [link, next - 1] as const);
  return {
    ...scalars,
    recId: '',
    prev: 0,
    mailFloor: places.mailFloor,
    ctlFloor: places.ctlFloor,
    tries: moveTries(old.tries, places),
    outFloor: Object.fromEntries(settled),
    since: { records: 0, bytes: 0 },
  };
}

/** Inputs that killed a process keep their count; those of mail are named by position (K2). */
function moveTries(old: Scalars['tries'], places: NewPlaces): Scalars['tries'] {
  const tries: Scalars['tries'] = {};
  for (const [input, count] of Object.entries(old)) {
    const [, lane, position, item] = MAIL_INPUT.exec(input) ?? [];
    if (lane === undefined) {
      tries[input] = count;
      continue;
    }
    const place = places.find(lane === 'm' ? 'data' : 'control', Number(position));
    if (place !== undefined) tries[`${lane}${place}.${item}`] = count;
  }
  return tries;
}

const MAIL_INPUT = /^([mc])(\d+)\.(\d+)$/;

/** @throws TroupeError INTERNAL for a row that no embedded store holds */
export function moveRow(row: TableRow): TableRow {
  if (row.table === TABLE.out)
    throw new TroupeError('INTERNAL', 'the export holds messages that are not settled');
  if (row.table !== TABLE.intent) return row;
  // The epoch that committed its Start was a position: a new owner's own may be the same number.
  return { ...row, value: encodeIntent({ ...decodeIntent(row.value), epoch: 0 }) };
}

/**
 * A message of a client keeps the time at which it was accepted: its deadline and its key count
 * from then. An entry that cannot be parsed is moved unchanged, and ends as a dead letter.
 */
export function moveMail(bytes: Uint8Array, logTimeMs: number): Uint8Array {
  let entry: MailEntry;
  try {
    entry = decodeMail(bytes);
  } catch (error) {
    if (error instanceof CorruptRecord) return bytes;
    throw error;
  }
  if (entry.kind !== 'client') return bytes;
  return encodeMail({ ...entry, acceptedAt: entry.acceptedAt ?? logTimeMs });
}

/** Names a dead letter of the old log. */
export const letterPlace = ({
  domain = DEAD_LETTER_DOMAIN,
  position,
}: Pick<StoredAudit, 'domain' | 'position'>): string => `${domain}/${position}`;

export function moveAudit(bytes: Uint8Array, letters: ReadonlyMap<string, Position>): Uint8Array {
  const audit = decode<StoredAudit>(bytes);
  return encode({ ...audit, position: letters.get(letterPlace(audit)) ?? 0 });
}
