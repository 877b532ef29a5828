/** Ids of the messages and transcript entries that turns make. */

/**
 * The n-th of a turn: unique, since turn numbers are committed and never reused.
 */
export const messageId = (cell: string, shard: number, turnNo: number, n: number): string =>
  `${cell.slice(0, 8)}-${shard}-${turnNo}-${n}`;

/** The number of the turn that made it. */
export const turnOfId = (id: string): number => Number(id.split('-')[2]);
