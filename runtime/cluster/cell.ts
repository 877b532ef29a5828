/**
 * The cell's record: the name of the cell in an `env`, and its number of shards. The first process
 * writes it permanently; an import writes it in two steps, and only the second one opens the cell.
 */
import { randomBytes } from 'node:crypto';
import { assertShards } from '../../protocols/address.ts';
import { TroupeError, errorData } from '../../protocols/errors.ts';
import { cellSubject } from '../../protocols/subjects.ts';
import { decodeCell, encodeCell } from '../cell-record.ts';
import { AppendUnknown, type Log } from '../log/log.ts';
import { noCluster } from './nats-streams.ts';
import { pause } from './pause.ts';

export type CellRecord = {
  /** 128-bit hex name of the cell */
  readonly cell: string;
  readonly shards: number;
  readonly createdAt: number;
  /** an import is running: no process may use the cell yet */
  readonly importing?: boolean;
};

export type EnterOptions = {
  readonly env: string;
  /** of a new cell; an existing cell keeps its own number */
  readonly shards: number;
  /** false: NOT_FOUND if there is no cell; default true */
  readonly create?: boolean;
  readonly onAlarm: (what: string) => void;
  /** ends all waits */
  readonly signal?: AbortSignal;
};

const RETRY_MS = { first: 50, max: 1_000 };

/**
 * Reads the record, or writes it if there is none. Waits while the log does not answer or an import
 * is running. Concurrent processes receive the same record.
 * @throws TroupeError INVALID_ARGUMENT for an invalid number of shards; CANCELLED when `signal`
 * ends the wait; INTERNAL when the record is not that of a cluster
 */
export async function enterCell(log: Log, options: EnterOptions): Promise<CellRecord> {
  const { env, shards, create = true, onAlarm, signal } = options;
  assertShards(shards);
  const fresh = { cell: randomBytes(16).toString('hex'), shards, createdAt: Date.now() };
  let reported: string | undefined;
  for (let delayMs = RETRY_MS.first; ; delayMs = Math.min(delayMs * 2, RETRY_MS.max)) {
    const found = await writeOrRead(log, cellSubject(env), create ? fresh : undefined);
    if (found === undefined) throw noCluster(env);
    if (typeof found !== 'string') {
      if (create && found.shards !== shards)
        onAlarm(
          `${shards} shards were requested, but the cell ${env} was created with ${found.shards}, which cannot change`,
        );
      return found;
    }
    if (found !== reported) onAlarm(`waiting for the cell ${env}: ${found}`);
    reported = found;
    await pause(delayMs, signal);
  }
}

/**
 * The record, or why it is not available now; undefined if there is none and none may be created.
 */
async function writeOrRead(
  log: Log,
  subject: string,
  fresh: CellRecord | undefined,
): Promise<CellRecord | string | undefined> {
  try {
    const before = await log.readLast(subject);
    if (!before && !fresh) return undefined;
    if (!before && fresh) await log.append(subject, encodeCell(fresh), { expectedLast: 0 });
    const last = before ?? (await log.readLast(subject));
    if (!last) return 'its record cannot be read back';
    const record = decodeCell<CellRecord>(last);
    if (record.importing === true) return 'an import is under way';
    if (typeof record.cell === 'string' && Number.isInteger(record.shards)) return record;
  } catch (error) {
    if (error instanceof AppendUnknown) return error.message;
    if (errorData(error).code !== 'UNAVAILABLE') throw error;
    return errorData(error).message;
  }
  throw new TroupeError('INTERNAL', `${subject} does not contain the record of a cell`);
}
