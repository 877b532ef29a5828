/**
 * The notes of an agent: what there is, what a search finds, the text of one, and batches of
 * vectors.
 */
import { Type } from '@sinclair/typebox';
import { defined } from '../protocols/defined.ts';
import {
  EMBEDDING_BATCHES_INDEX,
  embeddingBatchAddress,
  type EmbeddingBatchRow,
} from '../protocols/embedding-batch.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { NoteInfo, NotesFound } from '../protocols/memory.ts';
import { askActor } from './ask-actor.ts';
import { defineOperation, ObjectOf, type OperationContext, type Resource } from './operation.ts';

const agent = Type.String({ minLength: 1, maxLength: 64, description: 'Id of the agent' });

const search = defineOperation({
  name: 'memory.search',
  scope: 'tenant',
  summary: 'Search the notes of an agent, as memory_search does in its main session',
  params: Type.Object({
    agent,
    query: Type.String({ minLength: 1, maxLength: 2_000, description: 'Words or a question' }),
    maxResults: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 20, description: 'Default: as configured' }),
    ),
  }),
  result: ObjectOf<NotesFound>(),
  errors: ['NOT_FOUND', 'UNAVAILABLE'],
  http: {
    method: 'GET',
    path: '/v1/memory/{agent}/search',
    operationId: 'searchMemory',
    responses: { 200: 'Best first, with the state of the index' },
  },
  run: (context, { agent: id, query, maxResults }) =>
    context.notes.search(context.tenant, known(context, id), { query, maxResults }),
});

const list = defineOperation({
  name: 'memory.list',
  scope: 'tenant',
  summary: 'List the notes of an agent',
  params: Type.Object({ agent }),
  result: Type.Object({ notes: Type.Array(ObjectOf<NoteInfo>()) }),
  errors: ['NOT_FOUND', 'UNAVAILABLE'],
  http: {
    method: 'GET',
    path: '/v1/memory/{agent}',
    operationId: 'listMemory',
    responses: { 200: 'MEMORY.md, then the others by name' },
  },
  run: async (context, { agent: id }) => ({
    notes: [...(await context.notes.list(context.tenant, known(context, id)))],
  }),
});

const get = defineOperation({
  name: 'memory.get',
  scope: 'tenant',
  summary: 'Show a note of an agent',
  params: Type.Object({
    agent,
    path: Type.String({ minLength: 1, maxLength: 4_096, description: 'As memory.list has it' }),
  }),
  result: Type.Object({ path: Type.String(), text: Type.String() }),
  errors: ['NOT_FOUND', 'UNAVAILABLE'],
  http: {
    method: 'GET',
    path: '/v1/memory/{agent}/note',
    operationId: 'getNote',
    responses: { 200: 'Its whole text, at most 1 MiB' },
  },
  async run(context, { agent: id, path }) {
    const text = await context.notes.read(context.tenant, known(context, id), path);
    if (text === undefined)
      throw new TroupeError('NOT_FOUND', `${id} has no note ${path.slice(0, 200)}`);
    return { path, text };
  },
});

const Batch = ObjectOf<EmbeddingBatchRow>();

export const startBatch = defineOperation({
  name: 'memory.index',
  scope: 'tenant',
  summary: 'Make the vectors that notes of an agent lack, by a batch of the model’s provider',
  params: Type.Object({ agent }),
  result: Batch,
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/memory/{agent}/batch',
    operationId: 'startMemoryBatch',
    responses: { 200: 'The batch, which ends within a day' },
    isKeyed: true,
  },
  run(context, { agent: id }) {
    const to = embeddingBatchAddress(context.tenant, known(context, id));
    context.notes.assertBatches(context.tenant);
    const { idempotencyKey: key } = context;
    return askActor<EmbeddingBatchRow>(context, to, { type: 'batch.start' }, { name: to, key });
  },
});

export const showBatch = defineOperation({
  name: 'memory.batch',
  scope: 'tenant',
  summary: 'Show the latest batch of vectors of an agent',
  params: Type.Object({ agent }),
  result: Type.Object({ batch: Type.Optional(Batch) }),
  errors: ['NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/memory/{agent}/batch',
    operationId: 'getMemoryBatch',
    responses: { 200: 'Absent: none in the last 30 days' },
  },
  run: ({ system: { index }, ...context }, { agent: id }) =>
    defined({
      batch: index.get<EmbeddingBatchRow>(
        EMBEDDING_BATCHES_INDEX,
        context.tenant,
        known(context, id),
      ),
    }),
});

export const cancelBatch = defineOperation({
  name: 'memory.cancel',
  scope: 'tenant',
  summary: 'Cancel the batch of an agent; vectors that the provider has made are stored',
  params: Type.Object({ agent }),
  result: Batch,
  errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'DELETE',
    path: '/v1/memory/{agent}/batch',
    operationId: 'cancelMemoryBatch',
    responses: { 200: 'The batch, which ends some minutes later' },
  },
  run(context, { agent: id }) {
    const to = embeddingBatchAddress(context.tenant, known(context, id));
    return askActor<EmbeddingBatchRow>(context, to, { type: 'batch.cancel' }, { name: to });
  },
});

export const memory: Resource = {
  name: 'memory',
  operations: [search, list, get, startBatch, showBatch, cancelBatch],
};

function known(
  { agents, tenant }: Pick<OperationContext, 'agents' | 'tenant'>,
  id: string,
): string {
  if (agents(tenant).agents.some((one) => one.id === id)) return id;
  throw new TroupeError('NOT_FOUND', `unknown agent id "${id}"`);
}
