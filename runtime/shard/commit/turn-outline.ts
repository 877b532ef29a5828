/**
 * TurnOutline: what the history keeps of most turns. It is taken when a turn ends, while its parts
 * are in the processor's cache: after the commit, reading them again takes ten times as long.
 */
import { type ActorRow, decodeActorRow, PendingRow } from '../turn/actor-row.ts';
import type { TurnSource } from '../turn/turn-source.ts';
import { type FoldPut, TABLE } from './fold.ts';
import type { Turn } from './records.ts';

export type TurnOutline = {
  /** type of the message; undefined for any other input */
  readonly name: string | undefined;
  /** the sender of the message: an actor, or the name of a client */
  readonly from: string | undefined;
  /** of the actor after the turn; undefined if it is not known */
  readonly state: unknown;
  /** undefined where a later turn of the record has its row */
  status: string | undefined;
  readonly hasEffects: boolean;
  readonly hasSent: boolean;
};

type Outlined = Pick<Turn, 'actor' | 'out'> & {
  readonly puts: readonly FoldPut[];
  readonly state?: unknown;
  readonly source?: TurnSource | undefined;
};

/** Of a turn that was read, or whose outline was not taken when it ended. */
export function outlineOf(turn: Outlined): TurnOutline {
  const row = rowIn(turn);
  return outlineWith(turn, row && (row instanceof PendingRow ? row : decodeActorRow(row)));
}

/** Undefined when the row would have to be decoded. */
export function outlineAtEnd(turn: Outlined): TurnOutline | undefined {
  const row = rowIn(turn);
  return row === undefined || row instanceof PendingRow ? outlineWith(turn, row) : undefined;
}

/** The row of the actor after the turn; it may be with a later turn of the record. */
function rowIn({ puts, actor }: Outlined): Uint8Array | PendingRow | undefined {
  for (const [table, key, value] of puts)
    if (table === TABLE.actor && key === actor) return value ?? undefined;
  return undefined;
}

function outlineWith(
  { puts, state, out, source }: Outlined,
  row: PendingRow | ActorRow | undefined,
): TurnOutline {
  const snap = row && (row instanceof PendingRow ? row.row : row).row.snap;
  const item = source?.kind === 'message' ? source.item : undefined;
  return {
    name: item && same(item.event.type),
    from: item && same(item.from ?? item.principal?.sub),
    state: snap ? snap.v : state,
    status: snap?.s,
    hasEffects: puts.some(([table]) => table === TABLE.intent),
    hasSent: out.length > 0,
  };
}

/** Decoded texts, so that equal ones are compared without reading them. */
const texts = new Map<string, string>();
const TEXTS_MAX = 1_000;

function same<Text extends string | undefined>(text: Text): Text {
  if (text === undefined) return text;
  const known = texts.get(text);
  if (known !== undefined) return known as Text;
  if (texts.size === TEXTS_MAX) texts.clear();
  texts.set(text, text);
  return text;
}
