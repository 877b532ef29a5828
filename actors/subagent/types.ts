/** The context and the messages of a subagent. */
import type { ErrorData } from '../../protocols/errors.ts';
import type { RunAccepted, RunEnded, Usage } from '../../protocols/session.ts';
import type { Delivered, Meta } from '../../protocols/statechart.ts';
import type {
  ReportedBy,
  SubagentGo,
  SubagentHeard,
  SubagentKill,
  SubagentMove,
  SubagentOutcome,
  SubagentReport,
  SubagentReserve,
  SubagentSteer,
} from '../../protocols/subagent.ts';

export type Reserved = Omit<SubagentReserve, 'type' | 'hold' | 'reportBack'> & {
  /**
   * the requester, as the entry point authenticated it: its session receives the task on behalf of
   * it
   */
  readonly principal?: NonNullable<Meta['principal']>;
};

/** Why it ends before its session has ended. */
export type Stop = { readonly outcome: SubagentOutcome; readonly error: ErrorData };

export type SubagentContext = {
  readonly id: string;
  readonly tenant: string;
  readonly createdAt: number;
  /** null before the first message */
  readonly reserved: Reserved | null;
  /** session key of the receiver of its end; null: none */
  readonly parent: string | null;
  /** session key of its row and its events: its last parent */
  readonly shownUnder: string;
  /** adopted by a parent that may not have received this yet */
  readonly isNewHere: boolean;
  readonly startedAt: number | null;
  /** its session has taken the task */
  readonly isAccepted: boolean;
  /** the newest reply of its session that is not silence */
  readonly text: string;
  /** runs of its session that are part of `usage`, newest last, at most RUNS_KNOWN_MAX */
  readonly counted: readonly string[];
  /** usage of its own runs */
  readonly usage: Usage;
  /** of all below it, as its session said last */
  readonly below: RunEnded['below'];
  readonly steers: number;
  readonly stop: Stop | null;
  readonly outcome: SubagentOutcome | null;
  readonly endedAt: number | null;
  readonly reportedBy: ReportedBy | null;
};

export type SubagentEvent =
  | Delivered<SubagentReserve>
  | Delivered<SubagentGo>
  | Delivered<SubagentKill>
  | Delivered<SubagentSteer>
  | Delivered<SubagentReport>
  | Delivered<SubagentMove>
  | Delivered<SubagentHeard>
  | Delivered<RunEnded>
  | Delivered<{ type: 'reply'; to: string; result?: RunAccepted; error?: ErrorData }>
  | Delivered<{ type: 'refused'; to: string; message: string; error: ErrorData }>;

/** What guards and actions are functions of. Timers carry `meta`, too. */
export type Args = { readonly context: SubagentContext; readonly event: SubagentEvent };
