/** What a workload is: one kind of request, and when it has succeeded. */
import type { Send } from '../step.ts';
import type { Target } from '../target.ts';

export type WorkloadOptions = {
  /** the same for all requests of a test; part of the names of what it creates */
  readonly testId: string;
  /** agent that receives messages; default the default agent */
  readonly agent?: string;
  /** text of messages */
  readonly message: string;
  /** what memory searches look for */
  readonly query: string;
  /** an action `domain.verb_object` and its payload */
  readonly action: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** a tool of `/mcp` and its arguments */
  readonly tool: string;
  readonly toolArguments: Readonly<Record<string, unknown>>;
};

export type OpenWorkload = {
  readonly send: Send;
  /** Removes what it created, such as sessions. Never throws. */
  readonly close?: () => Promise<void>;
};

export type Workload = {
  /** one line: what it sends, and what counts as success */
  readonly summary: string;
  /** whether requests call a model */
  readonly usesModel: boolean;
  /** @throws TroupeError why the target cannot be asked this */
  readonly open: (target: Target, options: WorkloadOptions) => OpenWorkload;
};
