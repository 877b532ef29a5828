/**
 * Records: what a shard writes and reads, and the exact bytes. The state of a shard is the fold of
 * the journal records that count (docs/commit-protocol.md, section 2). A turn contains its state
 * change as row puts, so folding runs no user code (K4): commit, take-over and caches use the same
 * fold.
 *
 * Bytes: the header of record-format.ts, then msgpack of a positional array, because field names
 * cost bytes on the hottest path. The last element of a journal record's array is a u32, the CRC-32
 * of all bytes before its four. Before there was a header, the CRC-32 followed the array.
 */
import { crc32 } from 'node:zlib';
import { type Address, isAddress } from '../../../protocols/address.ts';
import { decode, encode } from '../../../protocols/codec.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { Lane, Message, ReplyRef } from '../../../protocols/statechart.ts';
import type { Principal } from '../../system.ts';
import type { Position } from '../../log/log.ts';
import { BASE_FORMAT, bodyStart, CorruptRecord, encodeEntry } from './record-format.ts';

/** Where a link ends: a shard's mailbox, or a log without an owner (D6). */
export type LinkTarget = number | 'dlq' | 'transcript';

/** One message in transit, as the committed turn of its sender describes it. */
export type OutItem = {
  readonly to: Address;
  readonly id: string;
  readonly event: Message;
  readonly from?: Address;
  readonly reply?: ReplyRef;
  readonly principal?: Principal;
  readonly traceId?: string;
  /** actors passed since a client or a timer started the chain */
  readonly hops: number;
  /** shard time; applied later it is refused as EXPIRED */
  readonly deadline?: number;
  /** the receiver, if this message creates it, is supervised by the sender */
  readonly supervise?: boolean;
};

/** Mailbox entries; many writers. */
export type MailEntry =
  | {
      readonly kind: 'links';
      readonly cell: string;
      readonly src: number;
      readonly lane: Lane;
      readonly n: number;
      readonly items: readonly OutItem[];
    }
  | {
      readonly kind: 'client';
      readonly cell: string;
      readonly item: OutItem;
      /** idempotency key; absent: every entry is a new message */
      readonly key?: string;
      readonly payloadHash: string;
      /** log time after which this copy is stale (F4) */
      readonly notAfter: number;
      readonly ttlMs: number;
      /** log time of its acceptance, where that was another log: an import moved it here */
      readonly acceptedAt?: number;
    }
  | {
      readonly kind: 'outcome';
      readonly cell: string;
      readonly intent: string;
      readonly attempt: number;
      readonly outcome: Outcome;
    };

export type Outcome =
  | { readonly kind: 'done'; readonly output: unknown }
  | { readonly kind: 'failed'; readonly error: ErrorData }
  /** the effect certainly did not begin (G8): it may be started again */
  | { readonly kind: 'notStarted' }
  /** decision of an operator or the reconcile hook about an unknown outcome: try again (G5) */
  | { readonly kind: 'again' };

export type TurnResult =
  | 'applied'
  | 'ignored'
  | 'duplicate'
  | 'refused'
  | 'expired'
  | 'stashed'
  | 'crashed'
  | 'poison'
  | 'dropped';

export type RowPut = readonly [table: string, key: string, value: Uint8Array | null];

export type Turn = {
  readonly turnNo: number;
  /**
   * `m12.3`: position and item of the mailbox, `c5.0`: of its control lane, `t…`: timer, `s…`:
   * stash, `o0.1.…`: attempt and intent of an `outcome`. Programs from before those look for a
   * mailbox entry at position 0, which does not exist
   */
  readonly input: string;
  readonly actor: string;
  /** name@version */
  readonly machine: string;
  readonly result: TurnResult;
  readonly why?: string;
  /** a row of an actor is with the last turn of the record that wrote it */
  readonly puts: readonly RowPut[];
  /** state of the actor after the turn, if its row is with a later turn of the record */
  readonly state?: unknown;
  readonly out: readonly (readonly [target: LinkTarget, lane: Lane, n: number, item: OutItem])[];
  /** its input, if no mailbox entry has it (G6) */
  readonly outcome?: Outcome;
};

export type RecordHead = {
  readonly cell: string;
  /** new for every record built, the same on every resend (C3) */
  readonly recId: string;
  /** position of the writer's EPOCH record; 0 in EPOCH itself */
  readonly epoch: Position;
  /** position of the record stored right before this one (C4) */
  readonly prev: Position;
  /** shard time; never falls (H1) */
  readonly now: number;
};

export type LinkMark = readonly [peer: string, n: number];

export type JournalRecord = RecordHead &
  (
    | { readonly t: 'EPOCH'; readonly worker: string }
    | {
        readonly t: 'TURNS';
        readonly mailFloor: Position;
        readonly ctlFloor: Position;
        readonly keyNow: number;
        readonly turns: readonly Turn[];
        /** changes of rows that belong to no turn: starts, expired keys */
        readonly puts: readonly RowPut[];
        /** changed marks only: link `src/lane` -> highest accepted number */
        readonly linkIn: readonly LinkMark[];
        /** changed marks only: link `dst/lane` -> highest settled number */
        readonly outFloor: readonly LinkMark[];
      }
    | { readonly t: 'TRY'; readonly input: string }
    | {
        readonly t: 'SNAPSHOT';
        readonly covers: Position;
        readonly blob: string;
        readonly sha256: string;
        readonly bytes: number;
      }
    | { readonly t: 'HANDOFF'; readonly to: string }
  );

/**
 * A decoded array whose positions are known by its first element, or by who wrote it. Checksums and
 * the cell guard it; a type cannot.
 */
type Packed = any[];

export function packItem(i: OutItem): unknown[] {
  const all = [
    i.to,
    i.id,
    i.event,
    i.hops,
    i.from,
    i.reply,
    i.principal,
    i.traceId,
    i.deadline,
    i.supervise,
  ];
  let end = all.length;
  while (all[end - 1] === undefined) end--;
  return all.slice(0, end);
}

export function unpackItem(a: Packed): OutItem {
  const item: { -readonly [K in keyof OutItem]: OutItem[K] } = {
    to: a[0],
    id: a[1],
    event: a[2],
    hops: a[3],
  };
  if (a[4] != null) item.from = a[4];
  if (a[5] != null) item.reply = a[5];
  if (a[6] != null) item.principal = a[6];
  if (a[7] != null) item.traceId = a[7];
  if (a[8] != null) item.deadline = a[8];
  if (a[9] != null) item.supervise = a[9];
  return item;
}

/** @param format that the cell uses; default one that every program reads */
export const encodeMail = (e: MailEntry, format: number = BASE_FORMAT): Buffer =>
  encodeEntry(packMail(e), format);

function packMail(e: MailEntry): unknown[] {
  switch (e.kind) {
    case 'links':
      return ['l', e.cell, e.src, e.lane, e.n, e.items.map(packItem)];
    case 'client':
      return [
        'c',
        e.cell,
        packItem(e.item),
        e.key ?? null,
        e.payloadHash,
        e.notAfter,
        e.ttlMs,
        ...(e.acceptedAt === undefined ? [] : [e.acceptedAt]),
      ];
    case 'outcome':
      return ['o', e.cell, e.intent, e.attempt, e.outcome];
  }
}

/**
 * @throws CorruptRecord when the bytes are no mail entry: many write here, so every field is looked
 * at (E5: the caller dead-letters it with its position); TroupeError NEWER_FORMAT (E6: the caller
 * stops there)
 */
export function decodeMail(bytes: Uint8Array, position?: Position): MailEntry {
  const start = bodyStart(bytes, 'a mailbox entry', position);
  try {
    const a = decode<Packed>(bytes, start);
    const unpack = Array.isArray(a) ? UNPACK_MAIL.get(a[0]) : undefined;
    if (!unpack) throw new CorruptRecord('a mailbox entry of no known kind');
    return unpack(a);
  } catch (cause) {
    if (cause instanceof CorruptRecord) throw cause;
    throw new CorruptRecord('a mailbox entry that does not decode', { cause });
  }
}

const unpackers: Readonly<Record<'l' | 'c' | 'o', (a: Packed) => MailEntry>> = {
  l([, cell, src, lane, n, items]) {
    fit(text(cell) && natural(src) && natural(n) && n > 0, 'link');
    fit((lane === 'data' || lane === 'control') && items.length > 0, 'link');
    return { kind: 'links', cell, src, lane, n, items: items.map(unpackMessage) };
  },
  c([, cell, item, key, payloadHash, notAfter, ttlMs, acceptedAt]) {
    fit(text(cell) && text(payloadHash) && (key === null || text(key)), 'key');
    fit(Number.isFinite(notAfter) && natural(ttlMs), 'time');
    fit(acceptedAt === undefined || Number.isFinite(acceptedAt), 'time');
    const entry = { cell, item: unpackMessage(item), payloadHash, notAfter, ttlMs };
    const moved = acceptedAt === undefined ? {} : { acceptedAt };
    return { kind: 'client', ...entry, ...(key === null ? {} : { key }), ...moved };
  },
  o([, cell, intent, attempt, outcome]) {
    fit(text(cell) && text(intent) && natural(attempt) && text(outcome.kind), 'outcome');
    return { kind: 'outcome', cell, intent, attempt, outcome };
  },
};
const UNPACK_MAIL = new Map<unknown, (a: Packed) => MailEntry>(Object.entries(unpackers));

const text = (value: unknown): value is string => typeof value === 'string';
const natural = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

function fit(is: boolean, what: string): void {
  if (!is) throw new CorruptRecord(`a mailbox entry whose ${what} does not fit`);
}

function unpackMessage(a: Packed): OutItem {
  const item = unpackItem(a);
  const { to, id, event, hops, from, deadline } = item;
  fit(isAddress(to) && (from === undefined || isAddress(from)), 'address');
  fit(text(id) && text(event.type) && natural(hops), 'message');
  fit(deadline === undefined || Number.isFinite(deadline), 'deadline');
  return item;
}

export const packTurn = (t: Turn) => [
  t.turnNo,
  t.input,
  t.actor,
  t.machine,
  t.result,
  t.why ?? null,
  t.puts,
  t.out.map(([target, lane, n, item]) => [target, lane, n, packItem(item)]),
  ...(t.outcome ? [t.state ?? null, t.outcome] : t.state === undefined ? [] : [t.state]),
];

export function unpackTurn(a: Packed): Turn {
  const [turnNo, input, actor, machine, result, why, puts] = a;
  const out = a[7].map((o: Packed) => [o[0], o[1], o[2], unpackItem(o[3])] as const);
  const turn = { turnNo, input, actor, machine, result, puts, out };
  return {
    ...turn,
    ...(why == null ? {} : { why }),
    ...(a[8] == null ? {} : { state: a[8] }),
    ...(a[9] === undefined ? {} : { outcome: a[9] }),
  };
}

function bodyOf(r: JournalRecord): unknown[] {
  switch (r.t) {
    case 'EPOCH':
      return [r.worker];
    case 'TURNS':
      return [
        r.mailFloor,
        r.ctlFloor,
        r.keyNow,
        r.turns.map(packTurn),
        r.puts,
        r.linkIn,
        r.outFloor,
      ];
    case 'TRY':
      return [r.input];
    case 'SNAPSHOT':
      return [r.covers, r.blob, r.sha256, r.bytes];
    case 'HANDOFF':
      return [r.to];
  }
}

/** @param format as `encodeMail` */
export function encodeRecord(r: JournalRecord, format: number = BASE_FORMAT): Buffer {
  const head = [r.t, r.cell, r.recId, r.epoch, r.prev, r.now];
  const bytes = encodeEntry([...head, ...bodyOf(r), CHECKSUM_SPACE], format);
  const at = bytes.length - CHECKSUM_BYTES;
  bytes.writeUInt32BE(crc32(bytes.subarray(0, at)) >>> 0, at);
  return bytes;
}

const CHECKSUM_BYTES = 4;
/** Encoded as a u32, whose four bytes the checksum replaces. */
const CHECKSUM_SPACE = 0xffff_ffff;

/**
 * @throws CorruptRecord when the checksum or the shape is wrong: the shard is quarantined, nothing
 * is skipped; TroupeError NEWER_FORMAT (E6), likewise
 */
export function decodeRecord(bytes: Uint8Array, position?: Position): JournalRecord {
  const at = bytes.length - CHECKSUM_BYTES;
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (at < 0 || view.readUInt32BE(at) !== crc32(view.subarray(0, at)) >>> 0)
    throw new CorruptRecord(`${RECORD}: checksum is wrong${placeOf(position)}`);
  const start = bodyStart(view, RECORD, position);
  const a = start === 0 ? decode<Packed>(view.subarray(0, at)) : decode<Packed>(view, start);
  const head = { cell: a[1], recId: a[2], epoch: a[3], prev: a[4], now: a[5] };
  switch (a[0]) {
    case 'EPOCH':
      return { ...head, t: 'EPOCH', worker: a[6] };
    case 'TURNS':
      return {
        ...head,
        t: 'TURNS',
        mailFloor: a[6],
        ctlFloor: a[7],
        keyNow: a[8],
        turns: a[9].map(unpackTurn),
        puts: a[10],
        linkIn: a[11],
        outFloor: a[12],
      };
    case 'TRY':
      return { ...head, t: 'TRY', input: a[6] };
    case 'SNAPSHOT':
      return { ...head, t: 'SNAPSHOT', covers: a[6], blob: a[7], sha256: a[8], bytes: a[9] };
    case 'HANDOFF':
      return { ...head, t: 'HANDOFF', to: a[6] };
    default:
      throw new CorruptRecord(`${RECORD} of unknown type ${String(a[0])}${placeOf(position)}`);
  }
}

const RECORD = 'a journal record';
const placeOf = (position?: Position): string =>
  position === undefined ? '' : ` at position ${position}`;

/**
 * An item stored in a log without an owner (transcript, dead letters); readers drop a repeated `id`
 * (D6).
 * @param format as `encodeMail`
 */
export const encodeKept = (item: OutItem, format: number = BASE_FORMAT): Buffer =>
  encodeEntry(packItem(item), format);
/** @throws CorruptRecord; TroupeError NEWER_FORMAT (E6): the caller skips neither */
export const decodeKept = (bytes: Uint8Array, position?: Position): OutItem =>
  unpackItem(decode<Packed>(bytes, bodyStart(bytes, 'a stored message', position)));

/** An outbox row of the fold. */
export const encodeOut = (target: LinkTarget, lane: Lane, n: number, item: OutItem): Buffer =>
  encode([target, lane, n, packItem(item)]);
export function decodeOut(bytes: Uint8Array): {
  target: LinkTarget;
  lane: Lane;
  n: number;
  item: OutItem;
} {
  const [target, lane, n, item] = decode<[LinkTarget, Lane, number, Packed]>(bytes);
  return { target, lane, n, item: unpackItem(item) };
}
