/**
 * Keys: idempotency keys of messages from outside (rule F). The turn that applies a message also
 * writes its key, so a repeated request finds the first result after any crash. Keys expire by the
 * log's time, not by a worker's clock (F4), in hourly order.
 */
import { decode, encode } from '../../../protocols/codec.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { expiryOf } from './expiry.ts';
import { type Fold, TABLE } from '../commit/fold.ts';
import type { Given, KeyState, KeyStore, TurnContext } from './turn-context.ts';

/** Rows have a limit, and a key's row names receiver and event type, too. */
export const CLIENT_KEY_BYTES_MAX = 512;

/** @throws TroupeError INVALID_ARGUMENT */
export function checkClientKey(key: string): void {
  const bytes = typeof key === 'string' ? Buffer.byteLength(key) : 0;
  if (bytes < 1 || bytes > CLIENT_KEY_BYTES_MAX || LONE_SURROGATE.test(key)) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `an idempotency key is valid Unicode of 1 to ${CLIENT_KEY_BYTES_MAX} bytes; this one has ${bytes}`,
    );
  }
}

const LONE_SURROGATE = /\p{Surrogate}/u;

type KeyRow = {
  readonly payloadHash: string;
  readonly firstAt: number;
  readonly answer?: Given;
};

export class Keys implements KeyStore {
  readonly #fold: Fold;
  constructor(fold: Fold) {
    this.#fold = fold;
  }

  /**
   * Scope of a key: the receiver (tenant and actor) and the action (F3). Neither of them holds
   * a NUL, so no two triples share a row.
   */
  rowKey(to: string, action: string, key: string): string {
    return `${to}\0${action}\0${key}`;
  }

  look(rowKey: string, payloadHash: string): KeyState {
    const row = this.#read(rowKey);
    if (!row) return { kind: 'new' };
    if (row.payloadHash !== payloadHash) return { kind: 'conflict' };
    return row.answer ? { kind: 'done', answer: row.answer } : { kind: 'pending' };
  }

  /** Remembers the key in the turn that applies its message. */
  remember(t: TurnContext, rowKey: string, payloadHash: string): void {
    const firstAt = t.group.keyNow;
    t.draft.put(TABLE.key, rowKey, write({ payloadHash, firstAt }));
    t.draft.put(...expiryOf(TABLE.key, rowKey, firstAt + t.world.limits.keyRetentionMs));
  }

  /**
   * A refusal that may succeed later is not the key's result: the client sends again under the same
   * key. What has its first answer keeps it.
   */
  forget(t: TurnContext, rowKey: string): void {
    const { keyRetentionMs } = t.world.limits;
    const expiry = ({ firstAt }: KeyRow) => expiryOf(TABLE.key, rowKey, firstAt + keyRetentionMs);
    const written = t.draft.get(TABLE.key, rowKey);
    if ((written ? read(written) : this.#read(rowKey))?.answer) return;
    if (written) {
      const [table, key] = expiry(read(written));
      t.draft.puts.delete(`${TABLE.key}\0${rowKey}`);
      t.draft.puts.delete(`${table}\0${key}`);
    }
    const stored = this.#read(rowKey);
    if (!stored) return;
    const [table, key] = expiry(stored);
    t.draft.put(TABLE.key, rowKey, null);
    t.draft.put(table, key, null);
  }

  /** Keeps the first answer with the key. */
  done(t: TurnContext, rowKey: string, answer: Given): void {
    const put = t.draft.get(TABLE.key, rowKey);
    const row = put === undefined ? this.#read(rowKey) : put && read(put);
    if (row && !row.answer) t.draft.put(TABLE.key, rowKey, write({ ...row, answer }));
  }

  #read(rowKey: string): KeyRow | undefined {
    const bytes = this.#fold.get(TABLE.key, rowKey);
    return bytes && read(bytes);
  }
}

const write = (row: KeyRow): Buffer =>
  encode(row.answer ? [row.payloadHash, row.firstAt, row.answer] : [row.payloadHash, row.firstAt]);

function read(bytes: Uint8Array): KeyRow {
  const [payloadHash, firstAt, answer] = decode<[string, number, Given?]>(bytes);
  return answer ? { payloadHash, firstAt, answer } : { payloadHash, firstAt };
}
