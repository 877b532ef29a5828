/**
 * What the effects of a batch of embeddings do: they read the notes of the agent, call the batch
 * API of the model's provider, and store the vectors.
 *
 * Invariant: a batch is only continued with the embedder that it was sent to.
 */
import { removeAwaited, type SegmentStore, storeAnswers, writeAwaited } from '../memory/index.ts';
import { address } from '../protocols/address.ts';
import type {
  BatchTicket,
  EmbeddingBatchEffects,
  SentBatch,
} from '../protocols/embedding-batch.ts';
import { TroupeError } from '../protocols/errors.ts';
import { type AgentNotesParts, notesOf } from './agent-notes.ts';
import { batchesIn } from './memory-options.ts';
import { partsFor } from './tenant-parts.ts';

export function embeddingBatches(parts: AgentNotesParts): EmbeddingBatchEffects {
  const withNotes = notesOf(parts);
  const memoryOf = (tenant: string) => partsFor(parts.processServices, tenant).memory;
  const segmentsOf = ({ tenant, agentId }: BatchTicket): SegmentStore =>
    memoryOf(tenant).options.segmentsOf!(address(tenant, 'agent', agentId));
  const batchesOf = ({ tenant, identity }: SentBatch) => {
    const { embedder, batches } = batchesIn(memoryOf(tenant));
    if (embedder.identity === identity) return batches;
    throw new TroupeError(
      'CONFLICT',
      'the configuration names another model, or another address of it, than that of the batch',
    );
  };

  return {
    async upload(ticket, signal) {
      const { tenant, agentId } = ticket;
      const memory = memoryOf(tenant);
      const { embedder, batches } = batchesIn(memory);
      const { name: model, identity } = embedder;
      const { texts, missing } = await withNotes(
        tenant,
        agentId,
        (files, owner) =>
          memory.indexes.use(owner, (index) => index.withoutVector(files, batches.textsMax)),
        signal,
      );
      if (texts.size === 0) return { model, identity, texts: 0, left: missing, file: null };
      const { keys, upload } = await batches.file(texts);
      await writeAwaited(segmentsOf(ticket), identity, keys);
      const file = await upload(signal);
      return { model, identity, texts: keys.length, left: missing - keys.length, file };
    },
    create: async ({ file, ticket, ...batch }, signal) =>
      batchesOf({ ...batch, ticket }).create(file, ticket, signal),
    find: async (batch, signal) =>
      (await batchesOf(batch).find(batch.ticket, batch.startedAt, signal)) ?? null,
    look: async (batch, signal) => batchesOf(batch).look(batch.batchId, signal),
    async store(batch, signal) {
      const batches = batchesOf(batch);
      async function* answers() {
        for (const file of batch.files) yield* batches.answers(file, signal);
      }
      const { stored, inputTokens } = await storeAnswers(
        segmentsOf(batch),
        batch.identity,
        answers(),
      );
      return { stored, usage: batches.usageOf(inputTokens) };
    },
    cancel: async (batch, signal) => batchesOf(batch).cancel(batch.batchId, signal),
    async release({ identity, files, ...ticket }, signal) {
      await removeAwaited(segmentsOf(ticket));
      if (identity === undefined) return { filesLeft: [] };
      const removals = await Promise.allSettled(
        files.map(async (file) => batchesOf({ ...ticket, identity }).remove(file, signal)),
      );
      return { filesLeft: files.filter((_, at) => removals[at]!.status === 'rejected') };
    },
  };
}
