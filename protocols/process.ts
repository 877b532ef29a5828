/**
 * Process: a saga, as readers see it (EN13): its row, and the names of what it is made of.
 */
import { type Address, address } from './address.ts';
import type { Evidence } from './task.ts';

/** Where a step is. */
export type ProcessStepState =
  | 'waiting'
  | 'acting'
  | 'verifying'
  /** done, and verified where a verifier is defined */
  | 'done'
  | 'failed'
  | 'undoing'
  /** undone, and not verified yet */
  | 'unproven'
  | 'undone'
  /** a person said to leave it as it is */
  | 'left';

export type ProcessStep = {
  readonly name: string;
  readonly state: ProcessStepState;
  readonly task_id?: string;
  readonly verify_task_id?: string;
  readonly undo_task_id?: string;
  readonly undo_verify_task_id?: string;
  /** that it was done, by the verifier */
  readonly evidence?: Evidence;
  /** that it was undone */
  readonly undo_evidence?: Evidence;
};

/**
 * `succeeded`, `compensated` (everything that was begun is undone, or can not be undone by its
 * nature) and `abandoned` (a person said so) are ends.
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

/** Index `processes`, key the id of the process, which is that of its task. Leaves with it. */
export const PROCESSES_INDEX = 'processes';
export type ProcessRow = {
  readonly process_id: string;
  /** its action */
  readonly name: string;
  readonly state: ProcessState;
  /** name of the step that it is at */
  readonly step: string;
  readonly steps: readonly ProcessStep[];
  /** the approval that it waits for */
  readonly approval_id?: string;
  readonly started_at: string;
  readonly ended_at?: string;
};

export const processAddress = (tenant: string, processId: string): Address =>
  address(tenant, 'process', processId);
