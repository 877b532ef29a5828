/** The context of a process, its events, and the inputs and results of its effects. */
import type { Address } from '../../protocols/address.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { ProcessState, ProcessStep } from '../../protocols/process.ts';
import type { Delivered, Meta, ReplyRef } from '../../protocols/statechart.ts';
import type { TaskCancel, TaskSubmit } from '../../protocols/task.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

/** The request of a step. */
export type Phase = 'act' | 'verify' | 'undo' | 'verifyUndo';

/** The properties of a step that its definition determines; fixed when the process starts. */
export type Outline = {
  readonly name: string;
  readonly verify: boolean;
  readonly undo: boolean;
  readonly verifyUndo: boolean;
};

export type Stage = ProcessStep & {
  readonly outline: Outline;
  /** the work was done, or its outcome is unknown */
  readonly touched?: true;
};

/** The requester and the request. */
export type Order = {
  readonly action: string;
  /** the requested version: its MAJOR determines the definition */
  readonly version?: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly principal?: NonNullable<Meta['principal']>;
  readonly traceId?: string;
  /** `data_locality` of the request's envelope */
  readonly locality?: string;
};

/** Why the process did not succeed. */
export type Failure = {
  readonly step: string;
  readonly phase: Phase | 'plan' | 'result';
  readonly error: ErrorData;
};

export type ProcessContext = {
  readonly self: Address;
  readonly tenant: string;
  readonly processId: string;
  /** null before the request */
  readonly order: Order | null;
  /** of the newest question */
  readonly asker: ReplyRef | null;
  readonly state: ProcessState;
  /** epoch milliseconds */
  readonly startedAt: number;
  readonly endedAt?: number;
  /** [] until the first plan */
  readonly steps: readonly Stage[];
  /** the current step */
  readonly at: number;
  /** number of the attempt to undo the step, from 0; each attempt is another task */
  readonly round: number;
  /** number of questions to operators until now */
  readonly questions: number;
  /** the actor whose answer is awaited */
  readonly awaiting: Address | null;
  /** planned, and requested in the same turn */
  readonly call: Planned | null;
  /** by step, the results of successful work */
  readonly results: Readonly<Record<string, unknown>>;
  /** the result of the compensation of the step, for its verifier */
  readonly undone?: unknown;
  readonly failure: Failure | null;
  /** why the last compensation failed, for the operator */
  readonly trouble: ErrorData | null;
  readonly cancelled: boolean;
  /** of the process, when it succeeded */
  readonly result?: unknown;
};

/** Fields of the payload next to it. */
export type OrderEvent = Delivered<{
  readonly type: string;
  readonly task_id?: string;
  readonly action_version?: string;
  readonly [field: string]: unknown;
}>;

export type ProcessReply = Delivered<{
  readonly type: 'reply';
  readonly to: string;
  readonly result?: unknown;
  readonly error?: ErrorData;
}>;

export type ProcessEvent = ProcessReply | Delivered<TaskCancel> | OrderEvent;

// ---- effects

export type PlanInput = {
  readonly processId: string;
  readonly tenant: string;
  readonly order: Order;
  readonly at: number;
  readonly phase: Phase;
  readonly round: number;
  readonly results: Readonly<Record<string, unknown>>;
  /** the step's own work, to verify or undo it; `result` is absent when it did not answer */
  readonly work: {
    readonly taskId: string;
    readonly result?: unknown;
    readonly undone?: unknown;
  } | null;
};
export type Planned = {
  readonly outline: readonly Outline[];
  readonly taskId: string;
  readonly to: Address;
  readonly submit: TaskSubmit;
};
export type ConcludeInput = Pick<PlanInput, 'order' | 'results'>;
export type Concluded = { readonly result: unknown };

export type Args = ActionArgs<ProcessContext, ProcessEvent>;
export const { on } = handlersOf<ProcessContext, ProcessEvent>();
