/** The effects of a batch, which the installation performs as `EmbeddingBatchEffects` describes. */
import { address } from '../../../protocols/address.ts';
import type {
  BatchTicket,
  EmbeddingBatchEffects,
  Uploaded,
} from '../../../protocols/embedding-batch.ts';
import type { EffectContext, EffectDefinition } from '../../../runtime/index.ts';

export type EmbeddingBatchServices = { readonly embeddingBatches: EmbeddingBatchEffects };

const REQUEST_MS = 180_000;
/** Of 200 MB, or of the vectors of 50,000 texts. */
const TRANSFER_MS = 3_600_000;

type Run<Input, Output> = (
  input: Input,
  signal: AbortSignal,
  effects: EmbeddingBatchEffects,
) => Promise<Output>;

const effectOf = <Input, Output>(
  run: Run<Input, Output>,
  timeoutMs = REQUEST_MS,
): EffectDefinition<Input, Output> => ({
  class: 'repeatable',
  timeoutMs,
  run: (input, { services, signal }: EffectContext) =>
    run(input, signal, (services as EmbeddingBatchServices).embeddingBatches),
});

type InputOf<Name extends keyof EmbeddingBatchEffects> = Parameters<EmbeddingBatchEffects[Name]>[0];

const upload: EffectDefinition<BatchTicket, Uploaded> = {
  ...effectOf((input, signal, effects) => effects.upload(input, signal), TRANSFER_MS),
  placement: ({ tenant, agentId }) => ({ workspacesOf: [address(tenant, 'agent', agentId)] }),
};

const create: EffectDefinition<InputOf<'create'>, string | null> = {
  ...effectOf((input, signal, effects) => effects.create(input, signal)),
  class: 'once',
  // The chart looks for the batch.
  reconcile: () => Promise.resolve({ outcome: null }),
};

export const batchEffects = {
  upload,
  create,
  find: effectOf((input: InputOf<'find'>, signal, effects) => effects.find(input, signal)),
  look: effectOf((input: InputOf<'look'>, signal, effects) => effects.look(input, signal)),
  cancel: effectOf(async (input: InputOf<'cancel'>, signal, effects) => {
    await effects.cancel(input, signal);
    return null;
  }),
  store: effectOf(
    (input: InputOf<'store'>, signal, effects) => effects.store(input, signal),
    TRANSFER_MS,
  ),
  release: effectOf((input: InputOf<'release'>, signal, effects) => effects.release(input, signal)),
};
