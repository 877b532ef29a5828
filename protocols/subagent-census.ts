/**
 * Census of subagents: the number in each state, and those that should have timed out but have not.
 * A healthy installation has none of the latter, because every wait of a subagent has a time limit.
 * Pure.
 */
import type { SubagentRow, SubagentStatus } from './subagent.ts';

/** Grace period after the time limit, milliseconds, for the timer and the final report. */
export const OVERDUE_MS = 120_000;

/** The fields of each row that the census reads. */
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
  /** past its time limit, milliseconds; 0: not overdue */
  readonly lateMs: number;
  /** overdue by more than OVERDUE_MS */
  readonly isOverdue: boolean;
};
export type SubagentCensus = {
  readonly counts: Readonly<Record<SubagentStatus, number>>;
  /** those that are not in a final state, the oldest first */
  readonly open: readonly OpenSubagent[];
  /** ended, but the parent has not confirmed how its agent receives the result */
  readonly unreported: number;
  readonly overdue: number;
};

const OPEN: readonly SubagentStatus[] = ['reserved', 'starting', 'running'];
export const isOpen = ({ status }: Pick<SubagentRow, 'status'>): boolean => OPEN.includes(status);

/** Counts rows one by one; keeps the open ones only. */
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
    // A subagent that its parent refused never started, so it reports to no session.
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
