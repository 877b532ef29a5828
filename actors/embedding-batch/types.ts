/** What a batch of embeddings keeps between turns. */
import type { AgentAdmitted, AgentRefused } from '../../protocols/agent.ts';
import type {
  BatchCancel,
  BatchStart,
  BatchTicket,
  Uploaded,
} from '../../protocols/embedding-batch.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Usage } from '../../protocols/models/model-usage.ts';
import type { Delivered } from '../../protocols/statechart.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

/** No texts: they are read from the notes when they are sent, and named by their hash. */
export type BatchContext = {
  /** `ticket` is empty before the first start */
  readonly ticket: BatchTicket;
  readonly upload: Uploaded | null;
  readonly batchId: string | null;
  /** `sent`: the provider has accepted it */
  readonly cancel: 'none' | 'wanted' | 'sent';
  /** files with answers */
  readonly files: readonly string[];
  readonly stored: number | null;
  readonly usage: Usage;
  readonly outcome: 'done' | 'failed' | 'cancelled' | null;
  /** why it failed */
  readonly error: ErrorData | null;
  /** why the latest request is repeated */
  readonly problem: ErrorData | null;
  readonly filesLeft: readonly string[];
  /** requests in succession that failed */
  readonly failures: number;
  /** answers in succession that it is running */
  readonly looks: number;
  /** before the next request */
  readonly pauseMs: number;
};

export type BatchEvent =
  | Delivered<BatchStart>
  | Delivered<BatchCancel>
  | Delivered<AgentAdmitted>
  | Delivered<AgentRefused>
  | Delivered<{ type: 'refused'; to: string; message: string; error: ErrorData }>;

export type Args = ActionArgs<BatchContext, BatchEvent>;
export const { on } = handlersOf<BatchContext, BatchEvent>();
