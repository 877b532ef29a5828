/** The rows of an account: one for each message or envelope that a client sent. */

/** A message of a conversation with an agent, by its run. */
export type RunRow = {
  readonly kind: 'run';
  readonly runId: string;
  readonly session: string;
  readonly sentAt: string;
  readonly accepted: boolean;
  /** `ok`, `error`, or `no end` */
  readonly status: string;
  /** lines of the transcript with this run */
  readonly user: number;
  readonly assistant: number;
  readonly requests?: number;
  readonly acceptedAt?: string;
  readonly answeredAt?: string;
  readonly lastError?: string;
};

/** An envelope and its task. */
export type TaskRow = {
  readonly kind: 'task';
  readonly key: string;
  readonly sentAt: string;
  readonly requests: number;
  /** ids of tasks in the responses: one */
  readonly ids: readonly string[];
  /** as the gateway shows it after the test; `none`: it has no such task */
  readonly state: string;
  readonly lastError?: string;
};

export type AccountRow = RunRow | TaskRow;
