/**
 * Full turns: turns with the bodies of their inputs and the rows that they wrote, so that they can
 * be replayed. Each actor whose type keeps them has a subject of its own, so they can be found and
 * removed for one actor.
 */
import { inflateRawSync } from 'node:zlib';
import { decode, encode } from '../../protocols/codec.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { Directive } from '../../protocols/supervision.ts';
import type { Log, LogEntry, Position } from '../log/log.ts';
import { deflated } from './deflate.ts';
import { PendingRow } from '../shard/turn/actor-row.ts';
import { decodeIntent, encodeIntent } from '../shard/turn/intents.ts';
import type { TurnSource } from '../shard/turn/turn-source.ts';
import { TABLE } from '../shard/commit/fold.ts';
import type { OpenTurn } from '../shard/commit/group.ts';
import { bodyStart, encodeEntry, entryOf } from '../shard/commit/record-format.ts';
import {
  type Outcome,
  packItem,
  packTurn,
  type RowPut,
  unpackItem,
  unpackTurn,
} from '../shard/commit/records.ts';

export type FullTurn = {
  /** shard time of its record */
  readonly now: number;
  readonly aheadMs: number;
  readonly turn: OpenTurn;
};

type PackedSource =
  | readonly []
  | readonly ['m', item: unknown[]]
  | readonly ['t', name: string]
  | readonly ['e', event: Message]
  | readonly ['o', id: string, attempt: number, outcome: Outcome, intent: Uint8Array | null];
type PackedTurn = readonly [now: number, aheadMs: number, turn: unknown[], source: PackedSource];

/** Keys deduplicate requests of clients, and are not part of what an actor did. */
const OMITTED: ReadonlySet<string> = new Set([TABLE.key, TABLE.expiry]);

/** Whether an operator erased what the actor did before. */
export const erasesHistory = ({
  result,
  why,
}: {
  readonly result: string;
  readonly why?: string | undefined;
}): boolean => result === 'applied' && why !== undefined && ERASES.has(why);

const ERASES: ReadonlySet<string> = new Set<Directive>(['sys.eraseHistory', 'sys.erase']);

/**
 * Whether what the actor did before is removed from history: it ended and is forgotten, or its
 * history was erased.
 */
export const removesHistory = (turn: OpenTurn): boolean =>
  erasesHistory(turn) || removesActor(turn);

const removesActor = ({ puts, actor }: OpenTurn): boolean =>
  puts.some(([table, key, value]) => table === TABLE.actor && key === actor && value === null);

/**
 * A turn as bytes. It is encoded as soon as it is committed: as an object it would stay in memory
 * for so long that the garbage collector moves it twice.
 */
export const encodeFullTurn = ({ now, aheadMs, turn }: FullTurn): Buffer =>
  encode([
    now,
    aheadMs,
    // The source has its outcome.
    packTurn({ ...turn, puts: storedPuts(turn), outcome: undefined }),
    packSource(turn.source),
  ]);

/** Turns as bytes, to be sent to a program that replays them. */
export const packFullTurns = (turns: readonly FullTurn[]): Buffer =>
  joined(turns.map(encodeFullTurn));

/** The array of what was encoded one by one. */
function joined(encoded: readonly Uint8Array[]): Buffer {
  const header = Buffer.allocUnsafe(5);
  header[0] = ARRAY_32;
  header.writeUInt32BE(encoded.length, 1);
  return entryOf([header, ...encoded]);
}

/** MessagePack: an array whose length follows in 32 bits. */
const ARRAY_32 = 0xdd;

export const unpackFullTurns = (bytes: Uint8Array): FullTurn[] =>
  decode<PackedTurn[]>(bytes, bodyStart(bytes, 'turns of history')).map(
    ([now, aheadMs, turn, source]): FullTurn => ({
      now,
      aheadMs,
      turn: { ...unpackTurn(turn), source: unpackSource(source) },
    }),
  );

/** @param turns as `encodeFullTurn` returned them, in their order */
export const encodeFullTurns = async (turns: readonly Uint8Array[]): Promise<Buffer> =>
  encodeEntry([await deflated(joined(turns))]);

/** [] for the entry that replaces what was removed. */
export function decodeFullTurns({ bytes, position }: LogEntry): FullTurn[] {
  const [body] = decode<[Uint8Array?]>(bytes, bodyStart(bytes, 'turns of history', position));
  return body ? unpackFullTurns(inflateRawSync(body)) : [];
}

/** All that are kept of an actor, in their order; each once. */
export async function readFullTurns(log: Log, subject: string): Promise<FullTurn[]> {
  const turns = new Map<number, FullTurn>();
  for (let from = 1; ; ) {
    const entries = await log.read(subject, from);
    for (const entry of entries)
      for (const full of decodeFullTurns(entry)) turns.set(full.turn.turnNo, full);
    const last = entries.at(-1);
    if (!last) break;
    from = last.position + 1;
  }
  return [...turns.values()].toSorted((a, b) => a.turn.turnNo - b.turn.turnNo);
}

/**
 * Removes the turns up to a position. A log keeps the last entry of a subject, so where that is to
 * go, an empty one comes behind it. What is appended afterwards stays.
 * @param upTo default: all of them; @param onFailed receives the error of the trim
 */
export async function removeFullTurns(
  log: Log,
  subject: string,
  { upTo, onFailed }: { readonly upTo?: Position; readonly onFailed: (error: unknown) => void },
): Promise<void> {
  const end = await coverFullTurns(log, subject, upTo);
  if (end !== undefined) log.trim(subject, end).catch(onFailed);
}

/** Makes turns removable. @returns up to where to trim; undefined: there are none */
export async function coverFullTurns(
  log: Log,
  subject: string,
  upTo?: Position,
): Promise<Position | undefined> {
  const last = await log.readLast(subject);
  if (!last) return undefined;
  const end = Math.min(upTo ?? last.position, last.position);
  if (end === last.position && decodeFullTurns(last).length > 0)
    await log.append(subject, encodeEntry([]), { expectedLast: end });
  return end;
}

const storedPuts = ({ puts }: OpenTurn): RowPut[] =>
  puts
    .filter(([table]) => !OMITTED.has(table))
    .map(([table, key, value]) => [table, key, value instanceof PendingRow ? value.bytes : value]);

function packSource(source: TurnSource | undefined): PackedSource {
  switch (source?.kind) {
    case 'message':
      return ['m', packItem(source.item)];
    case 'timer':
      return ['t', source.name];
    case 'event':
      return ['e', source.event];
    case 'outcome': {
      const { id, attempt, outcome, intent } = source;
      // Its input may be large, and is in the turn that opened it.
      const row = intent && encodeIntent({ ...intent, input: null });
      return ['o', id, attempt, outcome, row ?? null];
    }
    case undefined:
      return [];
  }
}

function unpackSource(packed: PackedSource): TurnSource | undefined {
  switch (packed[0]) {
    case 'm':
      return { kind: 'message', item: unpackItem(packed[1]) };
    case 't':
      return { kind: 'timer', name: packed[1] };
    case 'e':
      return { kind: 'event', event: packed[1] };
    case 'o': {
      const [, id, attempt, outcome, row] = packed;
      return { kind: 'outcome', id, attempt, outcome, ...(row && { intent: decodeIntent(row) }) };
    }
    case undefined:
      return undefined;
  }
}
