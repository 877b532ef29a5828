/**
 * CheckedReads: rows as lists and pages read them. A row that is not what was written is reported,
 * so that its shard is quarantined or its cache made again, and the reader receives UNAVAILABLE
 * with the reason: never another answer, and never a list without the row.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { State } from './state.ts';

export type ReadableState = Pick<State, 'get' | 'range' | 'scan'>;

export type DamageReports = {
  /** a row of the shard is damaged */
  damaged(shard: number, error: TroupeError): void;
  /** why the rows of a shard cannot be read at present; undefined when they can */
  unreadable(shard: number): string | undefined;
};

export function checkedReads(state: ReadableState, reports: DamageReports): ReadableState {
  const read = <Value>(shard: number, from: () => Value): Value => {
    const why = reports.unreadable(shard);
    if (why !== undefined) throw unavailable(shard, why);
    try {
      return from();
    } catch (error) {
      if (!isDamagedRow(error)) throw error;
      reports.damaged(shard, error);
      throw unavailable(shard, error.message, error);
    }
  };
  return {
    get: (shard, ...at) => read(shard, () => state.get(shard, ...at)),
    range: (shard, ...at) => read(shard, () => state.range(shard, ...at)),
    scan: (shard, ...at) => read(shard, () => state.scan(shard, ...at)),
  };
}

/** Whether a row of State is not what was written. */
export const isDamagedRow = (error: unknown): error is TroupeError =>
  error instanceof TroupeError &&
  error.details?.['reason'] === 'CORRUPT' &&
  error.details['table'] !== undefined;

const unavailable = (shard: number, why: string, cause?: unknown): TroupeError =>
  new TroupeError('UNAVAILABLE', `shard ${shard} cannot be read: ${why}`, {
    retryAfterMs: RETRY_MS,
    ...(cause === undefined ? {} : { cause }),
  });
const RETRY_MS = 5_000;
