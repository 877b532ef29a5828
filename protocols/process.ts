/** Process: a saga. Its row and its step states, for readers. */
import { type Address, address } from './address.ts';
import type { Evidence } from './task.ts';

/** State of a step. */
export type ProcessStepState =
  | 'waiting'
  | 'acting'
  | 'verifying'
  /** done, and verified if a verifier is defined */
  | 'done'
  | 'failed'
  | 'undoing'
  /** compensated, but not verified yet */
  | 'unproven'
  | 'undone'
  /** an operator decided to leave it as it is */
  | 'left';

export type ProcessStep = {
  readonly name: string;
  readonly state: ProcessStepState;
  readonly task_id?: string;
  readonly verify_task_id?: string;
  readonly undo_task_id?: string;
  readonly undo_verify_task_id?: string;
  /** the verifier's record that the step was done */
  readonly evidence?: Evidence;
  /** the record that it was compensated */
  readonly undo_evidence?: Evidence;
};

/**
 * `succeeded`, `compensated` (every started step is compensated, or needs no compensation) and
 * `abandoned` (an operator decided so) are final.
 */
export type ProcessState =
  | 'unstarted'
  | 'planning'
  | 'acting'
  | 'verifying'
  | 'stopping'
  | 'undoing'
  | 'awaiting_person'
  | 'succeeded'
  | 'compensated'
  | 'abandoned';

/** Index `processes`, key the process's id, which is the id of its task. Removed with the task. */
export const PROCESSES_INDEX = 'processes';
export type ProcessRow = {
  readonly process_id: string;
  /** its action */
  readonly name: string;
  readonly state: ProcessState;
  /** name of its current step */
  readonly step: string;
  readonly steps: readonly ProcessStep[];
  /** the approval that it waits for */
  readonly approval_id?: string;
  readonly started_at: string;
  readonly ended_at?: string;
};

export const processAddress = (tenant: string, processId: string): Address =>
  address(tenant, 'process', processId);
