/**
 * Outbox: orders of a chart that may be more than one turn may send. They leave in batches, each in
 * a turn of its own (I8). Pure; the chart's region `outbox` says when.
 */
import type { Tell } from '../../protocols/statechart.ts';

/** Messages of one turn, well below what a turn may send. */
export const BATCH = 32;

export type Outbox = {
  readonly tells: readonly Tell[];
  /** how many of this turn's batch have left */
  readonly sent: number;
};

export const EMPTY_OUTBOX: Outbox = { tells: [], sent: 0 };

type Sender = { readonly outbox: Outbox };

export const put = ({ outbox }: Sender, tells: readonly Tell[]): { outbox: Outbox } => ({
  outbox: { ...outbox, tells: [...outbox.tells, ...tells] },
});

export const hasTells = ({ outbox }: Sender): boolean => outbox.tells.length > 0;

export const batchHasRoom = ({ outbox }: Sender): boolean =>
  outbox.tells.length > 0 && outbox.sent < BATCH;

export const firstTell = ({ outbox }: Sender): Tell => outbox.tells[0]!;

export const dropFirst = ({ outbox }: Sender): { outbox: Outbox } => ({
  outbox: { tells: outbox.tells.slice(1), sent: outbox.sent + 1 },
});

export const newBatch = ({ outbox }: Sender): { outbox: Outbox } => ({
  outbox: { ...outbox, sent: 0 },
});
