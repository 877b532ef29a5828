/** The context of a sweeper, and its events. */
import type { ErrorData } from '../../protocols/errors.ts';
import type {
  RetentionBudget,
  RetentionConfigure,
  RetentionCounts,
  RetentionPlan,
  RetentionSweep,
  RetentionSweepRow,
} from '../../protocols/retention.ts';
import type { Delivered, ReplyRef } from '../../protocols/statechart.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

/** A sweep under way. */
export type OpenSweep = RetentionSweepRow & {
  /** the first is being swept; those that are done are left out */
  readonly kinds: RetentionPlan['kinds'];
  readonly budget: RetentionBudget;
  readonly cursor: string | null;
  /** picked, and not known to be removed */
  readonly items: readonly string[];
  /** of these items; absent in a sweep that an earlier version began */
  readonly bytes?: number;
  /** failed attempts in a row */
  readonly attempts: number;
};

export type RetentionContext = {
  readonly tenant: string;
  readonly everyMs: number;
  readonly dueAt: number;
  readonly open: OpenSweep | null;
  readonly last: RetentionSweepRow | null;
  /** of all sweeps */
  readonly removed: RetentionCounts;
  /** what was removed since the begin of the current hour of the budget */
  readonly hour: { readonly since: number; readonly items: number; readonly bytes?: number };
  readonly error: ErrorData | null;
  /** of the request that is not answered yet */
  readonly reply: ReplyRef | null;
};

export type RetentionEvent =
  | Delivered<RetentionConfigure>
  | Delivered<RetentionSweep>
  | Delivered<{ type: 'reply' }>
  | Delivered<{ type: 'refused'; to: string; message: string; error: ErrorData }>;
export type Args = ActionArgs<RetentionContext, RetentionEvent>;
export const { on } = handlersOf<RetentionContext, RetentionEvent>();
