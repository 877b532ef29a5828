/** The context of a task, its events, and the inputs and results of its effects. */
import type { AgentRow } from '../../protocols/action.ts';
import type { Address } from '../../protocols/address.ts';
import type { TaskMessage } from '../../protocols/agent2agent.ts';
import type { Envelope } from '../../protocols/envelope.ts';
import type { ErrorCode, ErrorData } from '../../protocols/errors.ts';
import type { Delivered, ReplyRef } from '../../protocols/statechart.ts';
import type {
  Evidence,
  TaskCancel,
  TaskDecide,
  TaskInput,
  TaskSubmit,
  TaskTerms,
  TaskView,
} from '../../protocols/task.ts';
import type { TaskAnswer } from '../../protocols/task-input.ts';
import type { TaskReserveWatcher, TaskUnwatch, TaskWatch } from '../../protocols/task-watch.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

/** The reason and error of a task that ends without success. */
export type Ending = {
  readonly outcome: 'FAILED' | 'CANCELLED';
  readonly error: ErrorData;
  /** nothing can have been done: there is nothing to undo */
  readonly untouched?: true;
};

/**
 * An agent outside as it was when it was chosen: its id may be another's by the time of an undo.
 */
export type RemoteAgent = Required<Pick<AgentRow, 'agent_id' | 'url'>>;

/** What is needed to carry the work out; dropped as soon as the task has ended. */
export type Work = {
  readonly envelope: Envelope;
  readonly terms: TaskTerms;
  readonly transport: TaskSubmit['transport'];
  readonly redriveOf?: string;
  /** epoch milliseconds: it does not begin later */
  readonly expiresAt: number;
  /** answers to `inputRequired`, oldest first */
  readonly inputs: readonly unknown[];
  /** failed attempts since the work or its compensation started, or an operator restarted it */
  readonly failures: number;
  /** pause before the next attempt, milliseconds */
  readonly pauseMs: number;
  /** of the last ended attempt, until the task has processed it */
  readonly outcome?: Outcome;
  /** agents outside that were chosen, each once, the one of this attempt last */
  readonly agents?: readonly RemoteAgent[];
  /** a request was sent to an actor, which has not answered */
  readonly asked?: true;
  /** a result that came by message and is to be checked; also when it is null */
  readonly reported?: { readonly result: unknown };
  /** what the work last failed of */
  readonly error?: ErrorData;
  readonly ending?: Ending;
  readonly time: WorkTime;
};

/** Milliseconds. The time of the work runs while it is `running`, and stops while it waits. */
export type WorkTime = {
  /** of its eta, at `sinceMs` */
  readonly leftMs: number;
  /** epoch milliseconds at which the present running or waiting began */
  readonly sinceMs: number;
  /** that it waited for words of its caller, before `sinceMs` */
  readonly waitedMs: number;
};

export type TaskContext = {
  readonly self: Address;
  readonly tenant: string;
  readonly taskId: string;
  /** null before it is accepted */
  readonly view: TaskView | null;
  readonly payloadHash: string;
  /** null before it is accepted and after it has ended */
  readonly work: Work | null;
  /** who is answered at the end */
  readonly waiters: readonly ReplyRef[];
  /** requested the cancellation and is answered at the end */
  readonly cancellers: readonly ReplyRef[];
  /** of a task that an A2A client created */
  readonly messages?: readonly TaskMessage[];
  /** the accepted inputs that had a key; absent: none */
  readonly answers?: readonly TaskAnswer[];
  /** actors that receive its changes; absent: none */
  readonly watchers?: readonly Address[];
};

/** An actor's answer to the task's request. */
export type ActorReply = {
  readonly type: 'reply';
  readonly to: string;
  readonly result?: unknown;
  readonly error?: ErrorData;
};

export type TaskEventIn =
  | Delivered<TaskSubmit>
  | Delivered<TaskCancel>
  | Delivered<TaskInput>
  | Delivered<TaskDecide>
  | Delivered<TaskWatch>
  | Delivered<TaskReserveWatcher>
  | Delivered<TaskUnwatch>
  | Delivered<ActorReply>;

export type Args = ActionArgs<TaskContext, TaskEventIn>;
export const { on } = handlersOf<TaskContext, TaskEventIn>();
export type OfTask = Pick<Args, 'context'>;
export type OfEvent = Pick<Args, 'event'>;

/** The outcome of an attempt. */
export type Outcome =
  | {
      readonly kind: 'done';
      readonly result: unknown;
      readonly resourceLinks?: readonly Record<string, unknown>[];
      readonly evidence?: Evidence;
    }
  | {
      readonly kind: 'input';
      readonly for: 'input' | 'approval';
      readonly prompt: string;
      readonly schema?: Record<string, unknown>;
    }
  /** it is unknown whether it was done */
  | { readonly kind: 'lost'; readonly why: string }
  /** its time was over before it began */
  | { readonly kind: 'expired' }
  /** `final`: trying again would not help, though the code says so */
  | {
      readonly kind: 'failed';
      readonly error: ErrorData;
      readonly final?: true;
      /** what the work returned, when that is what is wrong: for its compensation */
      readonly returned?: { readonly value: unknown };
    };

export type PerformInput = {
  readonly taskId: string;
  readonly idempotencyKey: string;
  readonly envelope: Envelope;
  readonly terms: TaskTerms;
  /** from 1 */
  readonly attempt: number;
  readonly inputs: readonly unknown[];
  readonly expiresAt: number;
  /** outside, chosen for this attempt */
  readonly agent?: RemoteAgent;
  /** of the attempt before, for the counters */
  readonly errorCode?: ErrorCode;
};

export type CheckInput = {
  readonly taskId: string;
  readonly envelope: Envelope;
  readonly terms: TaskTerms;
  readonly result: unknown;
};

export type CompensateInput = Omit<PerformInput, 'expiresAt' | 'agent'> & {
  /** external agents that may have received it */
  readonly agents: readonly RemoteAgent[];
  /** absent when the work returned nothing */
  readonly returned?: { readonly value: unknown };
};
