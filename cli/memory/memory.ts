/**
 * `troupe memory`: searches the notes in an agent's folder, and stores their vectors. Only the
 * status asks a gateway, about a batch, if one responds; troupe may run meanwhile.
 */
import { BlobSegments } from '../../installation/blob-segments.ts';
import type { MemoryToolsOptions } from '../../agent/tools/memory/memory-tools.ts';
import { createSecretMask } from '../../agent/tools/secret-mask.ts';
import { WorkspaceNotes } from '../../agent/tools/memory/workspace-notes.ts';
import { knownSecrets } from '../../installation/known-secrets.ts';
import { memoryOptions } from '../../installation/memory-options.ts';
import { catalogOf } from '../../installation/tenant-parts.ts';
import {
  type Answer,
  GRAPH_ROWS_MIN,
  hnswlibPath,
  isAwaited,
  MemoryIndex,
  type Question,
} from '../../memory/index.ts';
import { address, DEFAULT_TENANT } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import type { EmbeddingBatchRow } from '../../protocols/embedding-batch.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { plainText } from '../../protocols/plain-text.ts';
import { fileBlobsBeside } from '../../runtime/blobs/files.ts';
import { storeFolder } from '../../runtime/config/index.ts';
import { embeddedBlobsFolder, systemClock } from '../../runtime/index.ts';
import { agentFolder, type AgentWorkspaceOptions, isClustered } from '../agents/agent-workspace.ts';
import { exitCodes } from '../exit.ts';
import { loadForTenant } from '../options.ts';
import { printJson } from '../output.ts';
import { withProgress } from '../progress.ts';
import { batchText, latestBatch } from './batch.ts';

export type MemoryOptions = AgentWorkspaceOptions;
export type MemorySearchOptions = MemoryOptions & {
  readonly maxResults?: number;
  readonly minScore?: number;
};

/** Exit code 1 when nothing was found. */
export async function memorySearch(query: string, options: MemorySearchOptions): Promise<number> {
  const notes = await opened(options);
  const { maxResults = notes.settings.maxResults, minScore = notes.settings.minScore } = options;
  if (!(minScore >= 0 && minScore <= 1))
    throw new TroupeError('INVALID_ARGUMENT', '--min-score must be a number from 0 to 1');
  const answer = await notes.search({ query, maxResults, minScore });
  const { hits, left, mode, whyText } = answer;
  if (options.json) printJson({ hits, left, mode, ...(whyText !== undefined && { whyText }) });
  else {
    for (const { path, startLine, endLine, score, excerpt } of hits)
      process.stdout.write(
        `${plainText(path)}#L${startLine}-L${endLine}  ${score.toFixed(2)}\n${indented(excerpt)}\n\n`,
      );
    if (hits.length === 0) process.stdout.write('no note was found\n');
    warn(answer);
  }
  return hits.length > 0 ? exitCodes.ok : exitCodes.failure;
}

/** Asks no model. The state of a batch is known to a running gateway only. */
export async function memoryStatus(options: MemoryOptions): Promise<number> {
  const { folder, model, search, segments } = await opened(options);
  const from = performance.now();
  const answer = await search({ ...NOTHING, embedMs: 0 });
  const { files, chunks, left, missing } = answer;
  const indexedMs = Math.round(performance.now() - from);
  const isLarge = chunks - missing >= GRAPH_ROWS_MIN;
  const compared = isLarge && hnswlibPath() !== undefined ? 'graph' : 'exact';
  const vectors = model === undefined ? {} : { model, vectors: { missing, search: compared } };
  const batch = model === undefined ? undefined : await batchOf(options, segments);
  if (options.json)
    printJson({ folder, files, chunks, left, indexedMs, ...vectors, ...defined({ batch }) });
  else {
    process.stdout.write(`${files} notes, ${chunks} chunks, read in ${indexedMs} ms\n${folder}\n`);
    if (model !== undefined)
      process.stdout.write(
        `vectors of ${model}: ${missing} missing\nsearch: ${SEARCH_TEXTS[compared]}\n`,
      );
    if (batch) process.stdout.write(batchText(batch, systemClock.wallMs()));
    warn({ left });
  }
  return exitCodes.ok;
}

const SEARCH_TEXTS = {
  exact: 'all vectors are compared',
  graph: 'a graph of hnswlib-node; all vectors are compared until troupe has built it',
};

/** undefined: there is none, or it cannot be asked for, which is said if texts wait for a batch. */
async function batchOf(
  options: MemoryOptions,
  segments: BlobSegments,
): Promise<EmbeddingBatchRow | undefined> {
  try {
    return await latestBatch(options);
  } catch (error) {
    const waits = (names: readonly string[]) => names.some(isAwaited);
    if (await segments.list().then(waits, () => true))
      process.stderr.write(`texts wait for a batch, but: ${errorData(error).message}\n`);
    return undefined;
  }
}

/** Exit code 1 when chunks are left without a vector. */
export async function memoryIndex(options: MemoryOptions): Promise<number> {
  const { model, search } = await opened(options);
  if (model === undefined)
    throw new TroupeError(
      'CONFLICT',
      'memory.search.model is not set, so notes are found by their words and need no index',
    );
  const embedMs = Number.MAX_SAFE_INTEGER;
  const answer = await withProgress(({ show }) =>
    search({ ...NOTHING, embedMs, onProgress: (left) => show(`${left} chunks left`) }),
  );
  const { chunks, missing, refused, usage } = answer;
  if (options.json) printJson({ model, chunks, missing, refused, usage });
  else {
    const cost = usage.costUsd === undefined ? '' : `, $${usage.costUsd.toFixed(4)}`;
    process.stdout.write(
      `${chunks - missing - refused} of ${chunks} chunks have a vector of ${model}; ` +
        `${usage.inputTokens} tokens${cost}\n`,
    );
    if (refused > 0) process.stdout.write(`${refused} chunks were refused by the model\n`);
    warn(answer);
  }
  return missing > 0 ? exitCodes.failure : exitCodes.ok;
}

export async function memoryReset(options: MemoryOptions): Promise<number> {
  const { segments, sessionSegments } = await opened(options);
  let removed = 0;
  for (const store of [segments, sessionSegments])
    for (const name of await store.list()) {
      await store.remove(name);
      removed += 1;
    }
  if (options.json) printJson({ removed });
  else
    process.stdout.write(
      `${removed} ${removed === 1 ? 'file' : 'files'} with vectors removed; the notes are unchanged\n`,
    );
  return exitCodes.ok;
}

const NOTHING = { query: '', maxResults: 1, minScore: 0 };

type Notes = {
  readonly folder: string;
  /** of embeddings */
  readonly model: string | undefined;
  readonly settings: MemoryToolsOptions;
  readonly segments: BlobSegments;
  /** of messages of the agent's sessions */
  readonly sessionSegments: BlobSegments;
  search(this: void, question: Question): Promise<Answer>;
};

async function opened(options: MemoryOptions): Promise<Notes> {
  const [{ agentId, folder }, { config }] = await Promise.all([
    agentFolder(options),
    loadForTenant(options),
  ]);
  const { tenant = DEFAULT_TENANT } = options;
  // A promise that fails when it is used: words are searched without the store.
  const blobs = isClustered(config)
    ? Promise.reject(vectorsElsewhere())
    : Promise.resolve(fileBlobsBeside(embeddedBlobsFolder(storeFolder(config))));
  blobs.catch(() => {});
  const catalog = catalogOf(config, [], tenant);
  const secrets = createSecretMask(knownSecrets(config, process.env));
  const settings = memoryOptions(config, { catalog, blobs, secrets });
  const owner = address(tenant, 'agent', agentId);
  const segments = new BlobSegments(blobs, owner);
  const index = new MemoryIndex({ embedder: settings.embedder, segments });
  return {
    folder,
    model: settings.embedder?.name,
    settings,
    segments,
    sessionSegments: new BlobSegments(blobs, owner, 'sessions'),
    search: (question) =>
      index.search(new WorkspaceNotes(folder, secrets), {
        ...settings.ranking,
        now: systemClock.wallMs(),
        ...question,
      }),
  };
}

const vectorsElsewhere = () =>
  new TroupeError(
    'CONFLICT',
    'the vectors of these notes are in the cluster: ask the agent to search its memory',
  );

/** A note may have copied anything from the web: nothing in it controls the terminal. */
const indented = (text: string): string =>
  text
    .split(/\r?\n/)
    .map((line) => `    ${plainText(line)}`)
    .join('\n');

function warn({ left, whyText, notStored }: Partial<Answer> & Pick<Answer, 'left'>): void {
  for (const { path, why } of left)
    process.stderr.write(`${plainText(path)} was not searched: ${why}\n`);
  if (whyText !== undefined)
    process.stderr.write(`searched by words only: ${plainText(whyText)}\n`);
  if (notStored !== undefined) process.stderr.write(`vectors were not stored: ${notStored}\n`);
}
