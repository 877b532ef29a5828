/** How agents find their notes, by the configuration. */
import type { ModelCatalog } from '../agent/models/catalog.ts';
import { embedderOf } from '../agent/models/configured-embedder.ts';
import { type MemoryCounts, MemoryIndexes } from '../agent/tools/memory/memory-indexes.ts';
import type { MemoryToolsOptions } from '../agent/tools/memory/memory-tools.ts';
import type { SecretMask } from '../agent/tools/secret-mask.ts';
import type { Embedder, EmbeddingBatches } from '../memory/index.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Metrics } from '../runtime/index.ts';
import type { Config } from '../runtime/config/index.ts';
import type { Blobs } from '../runtime/blobs/blobs.ts';
import { BlobSegments } from './blob-segments.ts';

/** The settings of a tenant, and the indexes that its tools and operators share. */
export type MemoryParts = {
  readonly options: MemoryToolsOptions;
  readonly indexes: MemoryIndexes;
};

export function memoryParts(...of: Parameters<typeof memoryOptions>): MemoryParts {
  const options = memoryOptions(...of);
  return { options, indexes: new MemoryIndexes(options) };
}

/** The metrics of the search of notes, of all tenants together. */
export function watchMemory(all: readonly MemoryParts[], metrics: Pick<Metrics, 'gauge'>): void {
  const gauge = (name: string, help: string, of: keyof MemoryCounts) =>
    metrics.gauge(`troupe_memory_${name}`, help, () =>
      all.reduce((sum, { indexes }) => sum + indexes.counts[of], 0),
    );
  gauge('searches', 'Searches in notes that this process answered, since its start', 'searches');
  gauge('search_seconds', 'Time of these searches together', 'seconds');
  gauge(
    'searches_without_vectors',
    'Of these searches: by words only, although a model is configured',
    'withoutVectors',
  );
  gauge('embedded_tokens', 'Tokens of texts that these searches embedded', 'embeddedTokens');
  gauge('indexes', 'Agents whose notes have an index in this process', 'indexes');
  gauge('chunks', 'Chunks of notes in these indexes', 'chunks');
  gauge('graphs', 'Indexes whose vectors are searched by a graph of hnswlib-node', 'graphs');
}

export type MemoryUses = {
  readonly catalog: ModelCatalog;
  /** stores vectors */
  readonly blobs: Promise<Blobs>;
  /** Its values are not sent to the embedding model. */
  readonly secrets: SecretMask;
};

export function memoryOptions(
  { memory: { search } }: Pick<Config, 'memory'>,
  { catalog, blobs, secrets }: MemoryUses,
): MemoryToolsOptions {
  const {
    model,
    dimensions,
    textWeight,
    vectorWeight,
    mmr,
    decay,
    maxResults,
    minScore,
    sessions,
  } = search;
  return {
    maxResults,
    minScore,
    sessions,
    ranking: {
      weights: { text: textWeight, vector: vectorWeight },
      lambda: mmr.enabled ? mmr.lambda : undefined,
      halfLifeDays: decay.enabled ? decay.halfLifeDays : undefined,
    },
    embedder:
      model === undefined ? undefined : masked(embedderOf(catalog, model, dimensions), secrets),
    segmentsOf: (owner) => new BlobSegments(blobs, owner),
    sessionSegmentsOf: (owner) => new BlobSegments(blobs, owner, 'sessions'),
  };
}

/** As results of tools are masked before a model receives them. */
function masked(embedder: Embedder, secrets: SecretMask): Embedder {
  const { batches } = embedder;
  const mask = (text: string) => secrets.text(text);
  return {
    ...embedder,
    embed: (texts, as, signal) => embedder.embed(texts.map(mask), as, signal),
    ...(batches && {
      batches: {
        ...batches,
        file: (texts) => batches.file(new Map([...texts].map(([key, text]) => [key, mask(text)]))),
      },
    }),
  };
}

/**
 * The embedder of a tenant, and its batches.
 * @throws TroupeError CONFLICT without a model, INVALID_ARGUMENT when its provider has no batches
 */
export function batchesIn({ options: { embedder } }: Pick<MemoryParts, 'options'>): {
  readonly embedder: Embedder;
  readonly batches: EmbeddingBatches;
} {
  if (embedder === undefined)
    throw new TroupeError(
      'CONFLICT',
      'memory.search.model is not set, so notes are found by their words and need no vectors',
    );
  const { batches, name } = embedder;
  if (batches !== undefined) return { embedder, batches };
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `the provider of ${name} embeds no texts in batches: use troupe memory index without --batch`,
  );
}
