/**
 * Batch of embeddings: vectors of an agent's notes, made by the batch API of the model's provider.
 * Messages and rows of the actor, which is one per agent, and what its effects do outside.
 */
import { type Address, address } from './address.ts';
import type { ErrorData } from './errors.ts';
import type { Usage } from './models/model-usage.ts';

/** From an operator: begins a batch. Reply: its EmbeddingBatchRow; CONFLICT while one is open. */
export type BatchStart = { readonly type: 'batch.start' };
/**
 * From an operator: cancels the open batch. Reply: its EmbeddingBatchRow; NOT_FOUND when none is
 * open. What the provider has embedded by then is stored and counted.
 */
export type BatchCancel = { readonly type: 'batch.cancel' };

/** Index `embedding_batches`, key: id of the agent. The latest batch, for BATCH_RETENTION_MS. */
export const EMBEDDING_BATCHES_INDEX = 'embedding_batches';
export const BATCH_RETENTION_MS = 30 * 86_400_000;

export type EmbeddingBatchRow = {
  readonly agentId: string;
  /**
   * `admitting`: the agent's budgets are asked; `waiting`: the provider works; `ending`: files at
   * the provider are removed
   */
  readonly state:
    | 'admitting'
    | 'uploading'
    | 'creating'
    | 'waiting'
    | 'storing'
    | 'cancelling'
    | 'ending'
    | 'done'
    | 'failed'
    | 'cancelled';
  readonly startedAt: number;
  readonly updatedAt: number;
  /** `provider/model` */
  readonly model?: string;
  /** texts of the batch, and of the agent that did not fit into it */
  readonly texts?: number;
  readonly left?: number;
  /** the provider's id */
  readonly batchId?: string;
  /** texts that have a vector now */
  readonly stored?: number;
  readonly usage?: Usage;
  /** why it failed, or why its latest request is repeated */
  readonly error?: ErrorData;
  /** files that could not be removed from the provider */
  readonly filesLeft?: readonly string[];
};

export const embeddingBatchAddress = (tenant: string, agentId: string): Address =>
  address(tenant, 'embedding-batch', agentId);

// ---- effects

export type BatchTicket = {
  readonly tenant: string;
  readonly agentId: string;
  /** by which the provider's batch is recognized; at most 512 characters */
  readonly ticket: string;
  readonly startedAt: number;
};
export type Uploaded = {
  /** `provider/model` */
  readonly model: string;
  /** of the embedder: later effects refuse another one */
  readonly identity: string;
  readonly texts: number;
  /** texts without a vector that are not part of it */
  readonly left: number;
  /** null: no text lacks a vector */
  readonly file: string | null;
};
/** A batch with an uploaded file. */
export type SentBatch = BatchTicket & Pick<Uploaded, 'identity'>;
export type BatchLook = {
  readonly status: 'running' | 'completed' | 'expired' | 'cancelled' | 'failed';
  readonly files: readonly string[];
  readonly why?: string;
};
export type BatchStored = { readonly stored: number; readonly usage: Usage };
export type Released = { readonly filesLeft: readonly string[] };

/**
 * What the effects of a batch do. All but `create` may be repeated.
 *
 * @throws TroupeError of the provider (`Embedder`) and of the store; CONFLICT while the
 *   configuration names another model; INVALID_ARGUMENT when its provider has no batches
 */
export type EmbeddingBatchEffects = {
  /** Lists the texts without a vector as awaited, and sends them as a file. */
  upload(this: void, ticket: BatchTicket, signal: AbortSignal): Promise<Uploaded>;
  create(
    this: void,
    batch: SentBatch & { readonly file: string },
    signal: AbortSignal,
  ): Promise<string>;
  /** null: the provider has no batch of this ticket */
  find(this: void, batch: SentBatch, signal: AbortSignal): Promise<string | null>;
  look(
    this: void,
    batch: SentBatch & { readonly batchId: string },
    signal: AbortSignal,
  ): Promise<BatchLook>;
  /** Stores the vectors in these files. */
  store(
    this: void,
    batch: SentBatch & { readonly files: readonly string[] },
    signal: AbortSignal,
  ): Promise<BatchStored>;
  cancel(
    this: void,
    batch: SentBatch & { readonly batchId: string },
    signal: AbortSignal,
  ): Promise<void>;
  /** The texts are not awaited any more; removes the files from the provider. */
  release(
    this: void,
    batch: BatchTicket & { readonly identity?: string; readonly files: readonly string[] },
    signal: AbortSignal,
  ): Promise<Released>;
};
