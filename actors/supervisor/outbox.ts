/**
 * Outbox: messages of a chart that may be more than one turn may send. They leave in batches, each
 * in its own turn (I8). Pure. The region `outbox` of the charts of the root and of supervisors
 * decides when; the actions, guards and params of that region are here.
 */
import type { Tell } from '../../protocols/statechart.ts';

/** Messages per turn, well below what a turn may send. */
export const BATCH = 32;

export type Outbox = {
  readonly tells: readonly Tell[];
  /** messages of this turn's batch that have left */
  readonly sent: number;
};

export const EMPTY_OUTBOX: Outbox = { tells: [], sent: 0 };

type Sender = { readonly outbox: Outbox };
type Args = { readonly context: Sender };

export const put = ({ outbox }: Sender, tells: readonly Tell[]): Sender => ({
  outbox: { ...outbox, tells: [...outbox.tells, ...tells] },
});

export const hasTells = ({ context: { outbox } }: Args): boolean => outbox.tells.length > 0;

export const batchHasRoom = ({ context: { outbox } }: Args): boolean =>
  outbox.tells.length > 0 && outbox.sent < BATCH;

export const firstTell = ({ context: { outbox } }: Args): Tell => outbox.tells[0]!;

export const dropFirst = ({ context: { outbox } }: Args): Sender => ({
  outbox: { tells: outbox.tells.slice(1), sent: outbox.sent + 1 },
});

export const newBatch = ({ context: { outbox } }: Args): Sender => ({
  outbox: { ...outbox, sent: 0 },
});
