/**
 * ActorRow: the stored form of one actor: the machine's snapshot, and what the host stores with it.
 * Bytes: msgpack of a positional array.
 */
import type { Address } from '../../../protocols/address.ts';
import { decode, encode } from '../../../protocols/codec.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import { PAUSED } from '../../../protocols/supervision.ts';
import type { MachineRow } from '../../statechart/host.ts';
import { bytesMaxOf, UNFIT } from '../../statechart/values.ts';

/**
 * `active` takes messages; `suspended` waits for its supervisor after a crash, its messages are
 * stashed; `quarantined` sends its messages to the dead letters; `stopped` refuses them.
 */
export type ActorStatus = 'active' | 'suspended' | 'quarantined' | 'stopped';

export type ActorRow = {
  /** type@version that wrote the row */
  readonly machine: string;
  readonly status: ActorStatus;
  /**
   * number of the turn that created or restarted it: outcomes and timers of an earlier life are
   * stale
   */
  readonly life: number;
  readonly supervisor?: Address;
  /** shard times of the last crashes */
  readonly crashes: readonly number[];
  readonly why?: ErrorData;
  /** stash rows are numbered stashFirst .. stashEnd - 1 */
  readonly stashFirst: number;
  readonly stashEnd: number;
  readonly row: MachineRow;
};

/** Suspended by an operator, not by a failure. */
export const isPaused = ({ status, why }: Pick<ActorRow, 'status' | 'why'>): boolean =>
  status === 'suspended' && why?.details?.['reason'] === PAUSED;

/**
 * The row of an actor after a turn. It is encoded when its bytes are needed, at most once: not at
 * all when a later turn of the same record changes the actor again.
 */
export class PendingRow {
  readonly row: ActorRow;
  /** at least as many as `bytes` has; Infinity when the row cannot be stored */
  readonly bytesMax: number;
  #bytes: Buffer | undefined;

  constructor(row: ActorRow) {
    this.row = row;
    const bytes = bytesMaxOf(row);
    this.bytesMax = bytes === UNFIT ? Number.POSITIVE_INFINITY : bytes;
  }

  get bytes(): Buffer {
    return (this.#bytes ??= encodeActorRow(this.row));
  }

  /** Estimate: between half of what `bytes` has and one and a half times as many, normally. */
  get roughBytes(): number {
    return this.bytesMax / 2;
  }
}

export function encodeActorRow(a: ActorRow): Buffer {
  const { seq, snap, jobs, timers } = a.row;
  return encode([
    a.machine,
    a.status,
    a.life,
    a.supervisor ?? null,
    a.crashes,
    a.why ?? null,
    a.stashFirst,
    a.stashEnd,
    [seq, snap, jobs, timers],
  ]);
}

export function decodeActorRow(bytes: Uint8Array): ActorRow {
  const [
    machine,
    status,
    life,
    supervisor,
    crashes,
    why,
    stashFirst,
    stashEnd,
    [seq, snap, jobs, timers],
  ] =
    decode<
      [
        string,
        ActorStatus,
        number,
        Address | null,
        number[],
        ErrorData | null,
        number,
        number,
        [number, MachineRow['snap'], MachineRow['jobs'], MachineRow['timers']],
      ]
    >(bytes);
  return {
    machine,
    status,
    life,
    crashes,
    stashFirst,
    stashEnd,
    row: { seq, snap, jobs, timers },
    ...(supervisor ? { supervisor } : {}),
    ...(why ? { why } : {}),
  };
}

/** Number as a fixed-width key that sorts like the number. */
export const sortable = (n: number): string => n.toString(36).padStart(11, '0');
