/**
 * Intents: the rows of effects that actors wait for (rule G). The row identifies the call: an
 * outcome without a row, or of an older attempt, changes nothing (E4).
 */
import type { Address } from '../../../protocols/address.ts';
import { decode, encode } from '../../../protocols/codec.ts';
import type { EffectClass } from '../../actor/effect.ts';
import type { Position } from '../../log/log.ts';
import { type Fold, TABLE } from '../commit/fold.ts';

/** `details.reason` of the failure of an effect that an operator cancelled. */
export const CANCELLED_BY_OPERATOR = 'CANCELLED_BY_OPERATOR';

export type Intent = {
  readonly actor: Address;
  readonly machine: string;
  /** the invoke's id and the key that fences its outcome */
  readonly job: string;
  readonly key: string;
  readonly src: string;
  readonly cls: EffectClass;
  readonly state: 'open' | 'started' | 'unknown';
  readonly attempt: number;
  /** epoch that committed its Start; 0 before */
  readonly epoch: Position;
  /** shard time of the turn that asked */
  readonly at: number;
  readonly input: unknown;
  readonly traceId?: string;
};

/** An intent without its input, which may be large. */
export type IntentHead = Omit<Intent, 'input'>;

/** Of the intents that this process encoded, by their bytes, so that an outcome decodes nothing. */
const heads = new WeakMap<Uint8Array, IntentHead>();

export function encodeIntent(i: Intent): Buffer {
  const bytes = encode([
    i.actor,
    i.machine,
    i.job,
    i.key,
    i.src,
    i.cls,
    i.state,
    i.attempt,
    i.epoch,
    i.at,
    i.input,
    i.traceId ?? null,
  ]);
  heads.set(bytes, i);
  return bytes;
}

/** Decodes the intent, with a copy of its input, only if this process did not encode the bytes. */
export const intentHeadOf = (bytes: Uint8Array): IntentHead =>
  heads.get(bytes) ?? decodeIntent(bytes);

export function decodeIntent(bytes: Uint8Array): Intent {
  const [actor, machine, job, key, src, cls, state, attempt, epoch, at, input, traceId] =
    decode<
      [
        Address,
        string,
        string,
        string,
        string,
        EffectClass,
        Intent['state'],
        number,
        number,
        number,
        unknown,
        string | null,
      ]
    >(bytes);
  return {
    actor,
    machine,
    job,
    key,
    src,
    cls,
    state,
    attempt,
    epoch,
    at,
    input,
    ...(traceId ? { traceId } : {}),
  };
}

/** `src` of an encoded intent, without decoding the input behind it, which may be large. */
export function srcOf(bytes: Uint8Array): string {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let text = { start: 0, end: ARRAY_HEADER_BYTES };
  for (let field = 0; field <= SRC_FIELD; field++) text = textAt(view, text.end);
  return view.toString('utf8', text.start, text.end);
}

/** Of an array of up to 15 fields; the fields up to `src` are texts. */
const ARRAY_HEADER_BYTES = 1;
const SRC_FIELD = 4;

/** Where a MessagePack text lies whose header is at `at`. */
function textAt(view: Buffer, at: number): { start: number; end: number } {
  const header = view[at]!;
  if (header < 0xc0) return { start: at + 1, end: at + 1 + (header & 0x1f) };
  const bytes = 2 ** (header - 0xd9);
  const start = at + 1 + bytes;
  return { start, end: start + view.readUIntBE(at + 1, bytes) };
}

/** Every committed intent of a shard. */
export function* openIntents(fold: Fold): Iterable<readonly [id: string, intent: Intent]> {
  for (const { key, value } of fold.committedRows(TABLE.intent)) yield [key, decodeIntent(value)];
}
