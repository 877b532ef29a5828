/**
 * Failover: a model call that continues with the next key, then the next model, when one cannot
 * answer.
 *
 * The chain has every name in order and, for each name, every auth profile of its provider. A
 * candidate in cool-down (cool-down.ts) is skipped. When all candidates cool down, the one that is
 * ready soonest is tried, so that every call makes at least one attempt.
 *
 * Invariants:
 *  1. The caller receives at most one answer. When a candidate fails after deltas, `restart`
 *     invalidates them and the next answer begins at offset 0.
 *  2. Failures that another model cannot fix do not fail over: a conversation that is too long, and
 *     cancellation.
 *  3. The last event is `done`, with the answering model and the cost. Every other end throws a
 *     TroupeError with all attempts.
 */
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { ModelCatalog } from './catalog.ts';
import type { CoolDownKey } from './cool-down.ts';
import { costOf } from './cost.ts';
import { type Attempt, chainError } from './failover-error.ts';
import type {
  ModelDone,
  ModelEvent,
  ModelInfo,
  ModelProvider,
  ModelRequest,
  StreamOptions,
} from './model.ts';

/** `model`: the `provider/model` that answered. `costUsd` is absent without a price. */
export type FailoverDone = ModelDone & { readonly model: string; readonly costUsd?: number };

/** `restart`: discard the deltas received so far; another candidate starts. */
export type FailoverEvent =
  | Exclude<ModelEvent, ModelDone>
  | { readonly kind: 'restart' }
  | FailoverDone;

type Candidate = {
  /** `provider/model` */
  readonly name: string;
  readonly model: ModelInfo;
  readonly provider: ModelProvider;
  readonly place: CoolDownKey;
};

/**
 * Streams the answer of the first of `names` that can answer. An unknown name fails immediately.
 * @throws TroupeError as listed in model.ts. With several attempts, `details.attempts` contains
 *   each of them, and the code is that of an attempt that can be retried, if there is one.
 */
export async function* streamWithFailover(
  catalog: ModelCatalog,
  names: readonly string[],
  request: Omit<ModelRequest, 'model'>,
  options: StreamOptions,
): AsyncGenerator<FailoverEvent, void, undefined> {
  const chain = candidatesOf(catalog, names);
  const asLastResort = soonest(catalog, chain);
  const attempts: Attempt[] = [];
  let hasEmitted = false;
  for (const candidate of chain) {
    if (attempts.some((before) => settles(before, candidate))) continue;
    const coolsMs = catalog.coolDowns.remainingMs(candidate.place);
    if (coolsMs > 0 && candidate !== asLastResort) {
      attempts.push({ model: candidate.name, profile: candidate.place.profile, coolsMs });
      continue;
    }
    if (hasEmitted) yield { kind: 'restart' };
    const outcome = yield* attempt(catalog, candidate, request, options);
    if (outcome === undefined) return;
    hasEmitted = outcome.emitted;
    attempts.push({
      model: candidate.name,
      profile: candidate.place.profile,
      error: outcome.error,
    });
  }
  throw chainError(attempts);
}

/**
 * The error of an attempt after which another candidate may succeed; undefined when it answered.
 */
async function* attempt(
  catalog: ModelCatalog,
  { name, model, provider, place }: Candidate,
  request: Omit<ModelRequest, 'model'>,
  options: StreamOptions,
): AsyncGenerator<FailoverEvent, { error: TroupeError; emitted: boolean } | undefined, undefined> {
  const began = catalog.coolDowns.begin(place);
  let emitted = false;
  try {
    for await (const event of provider.stream({ ...request, model: model.id }, options)) {
      if (event.kind !== 'done') {
        emitted = true;
        yield event;
        continue;
      }
      began.succeeded();
      const costUsd = costOf(event.usage, model.price);
      yield { ...event, model: name, ...defined({ costUsd }) };
      return undefined;
    }
    throw new TroupeError('UNAVAILABLE', `${name} ended its stream without an answer`);
  } catch (thrown) {
    if (!(thrown instanceof TroupeError) || !mayFailOver(thrown)) throw thrown;
    began.failed(thrown);
    return { error: thrown, emitted };
  }
}

/** Does not fail over on cancellation or on context overflow, which needs a compaction. */
const mayFailOver = ({ code, details }: TroupeError): boolean =>
  code !== 'CANCELLED' && code !== 'PAYLOAD_TOO_LARGE' && details?.reason !== 'context_length';

/** An invalid request fails with every key of a model; only another model may accept it. */
const settles = ({ error, model }: Attempt, candidate: Candidate): boolean =>
  error?.code === 'INVALID_ARGUMENT' && model === candidate.name;

const candidatesOf = (catalog: ModelCatalog, names: readonly string[]): Candidate[] =>
  [...new Set(names)].flatMap((asked) => {
    const { name, model, profiles } = catalog.resolve(asked);
    return profiles.map(({ id, provider }) => ({
      name,
      model,
      provider,
      place: { provider: provider.id, profile: id, model: model.id },
    }));
  });

/** The candidate to try although all cool down; undefined when one is ready. */
const soonest = (catalog: ModelCatalog, chain: readonly Candidate[]): Candidate | undefined => {
  const waits = chain.map((candidate) => catalog.coolDowns.remainingMs(candidate.place));
  const least = Math.min(...waits);
  return least > 0 ? chain[waits.indexOf(least)] : undefined;
};
