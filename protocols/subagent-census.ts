/**
 * Census of subagents: how many there are in which state, and which of them should have ended by
 * themselves and have not. A healthy installation has none of those: every wait of a subagent ends
 * by time. Pure.
 */
import type { SubagentRow, SubagentStatus } from './subagent.ts';

/** Past its end by time for so long, milliseconds: its timer was due, and its last words too. */
export const OVERDUE_MS = 120_000;

/** What is looked at of each row. */
export const CENSUS_FIELDS = [
  'id',
  'parent',
  'status',
  'createdAt',
  'startedAt',
  'until',
  'reported',
] as const satisfies readonly (keyof SubagentRow)[];
export type CountedRow = Pick<SubagentRow, (typeof CENSUS_FIELDS)[number]>;

export type OpenSubagent = {
  readonly id: string;
  /** session key */
  readonly parent: string;
  readonly status: SubagentStatus;
  /** since it was reserved, milliseconds */
  readonly ageMs: number;
  /** past the time at which it ends by itself, milliseconds; 0: it has time left */
  readonly lateMs: number;
  /** late by more than OVERDUE_MS */
  readonly isOverdue: boolean;
};
export type SubagentCensus = {
  readonly counts: Readonly<Record<SubagentStatus, number>>;
  /** those that are not in a final state, the oldest first */
  readonly open: readonly OpenSubagent[];
  /** that have ended and whose parent has not said yet how its agent hears of it */
  readonly unreported: number;
  readonly overdue: number;
};

const OPEN: readonly SubagentStatus[] = ['reserved', 'starting', 'running'];
export const isOpen = ({ status }: Pick<SubagentRow, 'status'>): boolean => OPEN.includes(status);

/** Counts rows one by one; keeps those that are open only. */
export class Census {
  readonly #now: number;
  readonly #counts: Record<SubagentStatus, number> = { ...NONE };
  readonly #open: OpenSubagent[] = [];
  #unreported = 0;

  /** @param now epoch milliseconds */
  constructor(now: number) {
    this.#now = now;
  }

  add(row: CountedRow): void {
    this.#counts[row.status]++;
    if (isOpen(row)) this.#open.push(openOf(row, this.#now));
    // What a parent refused by itself has no start and nobody to report to.
    else if (row.reported === undefined && row.startedAt !== undefined) this.#unreported++;
  }

  result(): SubagentCensus {
    const open = this.#open.toSorted((a, b) => b.ageMs - a.ageMs);
    const overdue = open.filter(({ isOverdue }) => isOverdue).length;
    return { counts: { ...this.#counts }, open, unreported: this.#unreported, overdue };
  }
}

const NONE: SubagentCensus['counts'] = {
  reserved: 0,
  starting: 0,
  running: 0,
  completed: 0,
  failed: 0,
  timedOut: 0,
  killed: 0,
  refused: 0,
};

function openOf({ id, parent, status, createdAt, until }: CountedRow, now: number): OpenSubagent {
  const lateMs = Math.max(0, now - (until ?? now));
  const ageMs = Math.max(0, now - createdAt);
  return { id, parent, status, ageMs, lateMs, isOverdue: lateMs > OVERDUE_MS };
}
