/**
 * Bounds of the inputs and outputs of one shard (I8, J1, C6), and a cheap estimate of a value's
 * encoded size.
 */
export type Limits = {
  /** turns per journal record */
  readonly groupTurnsMax: number;
  /** estimated bytes after which a record is closed */
  readonly groupBytesMax: number;
  /** messages one turn may send */
  readonly outMax: number;
  /** open intents and armed timers of one actor, each */
  readonly pendingMax: number;
  /** estimated bytes one turn may write */
  readonly turnBytesMax: number;
  /** actors a chain of messages may pass */
  readonly hopsMax: number;
  /**
   * idempotency keys remembered per shard; more keyed requests are refused, none is forgotten early
   * (F5)
   */
  readonly keysMax: number;
  /**
   * How long a key is stored (F4). At least 27 h: clients may retry for 24 h, and clocks and the
   * answer of an append may be off by 1 h each. Afterwards a repeat is a new message.
   */
  readonly keyRetentionMs: number;
  /** actors kept in memory per shard; the least recently used is passivated */
  readonly residentsMax: number;
  /** due timers taken per record (H4) */
  readonly timersPerGroup: number;
  /** two unclean starts within it switch the crash-loop guard on (K1) */
  readonly crashWindowMs: number;
  /** committed turns after which the crash-loop guard ends */
  readonly carefulTurns: number;
  /**
   * shard time after its first turn at which it ends earlier, if there were just two unclean
   * starts: two workers may have died one after the other, and each turn costs two appends
   */
  readonly carefulMs: number;
  /** TRY records of one input after which it is poison (K2) */
  readonly triesMax: number;
};

const HOUR_MS = 3_600_000;

/**
 * A group is closed at this size; it includes the turn that exceeds it (C6). A broker message
 * carries one megabyte. A larger record, which only a large message can make, is stored by
 * reference (`log/nats-large.ts`).
 */
const GROUP_BYTES_MAX = 450_000;
/**
 * What one turn may write: a message of the largest size may be in the row of its actor, in a
 * transcript and in a message to another actor at once.
 */
const TURN_BYTES_MAX = 12 * 2 ** 20;

export const DEFAULT_LIMITS: Limits = {
  groupTurnsMax: 256,
  groupBytesMax: GROUP_BYTES_MAX,
  outMax: 64,
  pendingMax: 256,
  turnBytesMax: TURN_BYTES_MAX,
  hopsMax: 32,
  keysMax: 200_000,
  keyRetentionMs: 28 * HOUR_MS,
  residentsMax: 1_000,
  timersPerGroup: 128,
  crashWindowMs: 120_000,
  carefulTurns: 64,
  carefulMs: 500,
  triesMax: 3,
};

/** At least as many bytes as the value takes encoded, and not many more. */
export function roughBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + 5;
  if (typeof value !== 'object' || value === null) return 9;
  if (ArrayBuffer.isView(value)) return value.byteLength + 5;
  let sum = 5;
  if (Array.isArray(value)) for (const item of value) sum += roughBytes(item);
  else {
    for (const key in value) {
      sum += Buffer.byteLength(key) + 5 + roughBytes((value as Record<string, unknown>)[key]);
    }
  }
  return sum;
}
