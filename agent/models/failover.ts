/**
 * Failover: one model call that goes on with the next key and then the next model when the one
 * before cannot answer.
 *
 * The chain is every name in order and, within a name, every auth profile of its provider in order.
 * A candidate that cools down (cool-down.ts) is passed over; when all cool, the one that is ready
 * soonest is asked all the same, so that a call never fails without having asked anybody.
 *
 * Invariants:
 *  1. At most one answer is told: when a candidate fails after deltas, `restart` says that what was
 *     told of it is void, and the caller begins again at offset 0.
 *  2. What another model cannot mend does not fail over: a conversation that is too long, and a
 *     caller that gave up.
 *  3. The last event is `done`, with the model that answered and what it cost; every other end is a
 *     thrown TroupeError that names each attempt.
 */
import { defined } from '../../protocols/defined.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
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

/** `model`: the `provider/model` that answered. `costUsd` is absent where no price is known. */
export type FailoverDone = ModelDone & { readonly model: string; readonly costUsd?: number };

/** `restart`: forget the deltas told so far, another candidate begins. */
export type FailoverEvent =
  | Exclude<ModelEvent, ModelDone>
  | { readonly kind: 'restart' }
  | FailoverDone;

export type FailoverOptions = StreamOptions & {
  /** told before another candidate is asked; `from` and `to` may differ in the profile only */
  readonly onSwitch?: (from: string, to: string, why: ErrorData) => void;
};

type Candidate = {
  /** `provider/model` */
  readonly name: string;
  readonly model: ModelInfo;
  readonly provider: ModelProvider;
  readonly place: CoolDownKey;
};

/**
 * Asks the first of `names` that can answer. A name that means nothing is an error at once.
 * @throws TroupeError as model.ts lists them. With more than one attempt `details.attempts` has
 * each; the code is that of one worth trying again, if there was any.
 */
export async function* streamWithFailover(
  catalog: ModelCatalog,
  names: readonly string[],
  request: Omit<ModelRequest, 'model'>,
  options: FailoverOptions,
): AsyncGenerator<FailoverEvent, void, undefined> {
  const chain = candidatesOf(catalog, names);
  const asLastResort = soonest(catalog, chain);
  const attempts: Attempt[] = [];
  let last: { candidate: Candidate; error: TroupeError; told: boolean } | undefined;
  for (const candidate of chain) {
    if (attempts.some((before) => settles(before, candidate))) continue;
    const coolsMs = catalog.coolDowns.remainingMs(candidate.place);
    if (coolsMs > 0 && candidate !== asLastResort) {
      attempts.push({ model: candidate.name, profile: candidate.place.profile, coolsMs });
      continue;
    }
    if (last) {
      if (last.told) yield { kind: 'restart' };
      options.onSwitch?.(last.candidate.name, candidate.name, errorData(last.error));
    }
    const outcome = yield* attempt(catalog, candidate, request, options);
    if (outcome === undefined) return;
    last = { candidate, ...outcome };
    attempts.push({
      model: candidate.name,
      profile: candidate.place.profile,
      error: outcome.error,
    });
  }
  throw chainError(attempts);
}

/** The error of an attempt that another candidate may mend; undefined when it answered. */
async function* attempt(
  catalog: ModelCatalog,
  { name, model, provider, place }: Candidate,
  request: Omit<ModelRequest, 'model'>,
  options: FailoverOptions,
): AsyncGenerator<FailoverEvent, { error: TroupeError; told: boolean } | undefined, undefined> {
  const began = catalog.coolDowns.begin(place);
  let told = false;
  try {
    for await (const event of provider.stream({ ...request, model: model.id }, options)) {
      if (event.kind !== 'done') {
        told = true;
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
    return { error: thrown, told };
  }
}

/** Too long stays too long until the conversation is shortened, and who gave up wants nobody. */
const mayFailOver = ({ code, details }: TroupeError): boolean =>
  code !== 'CANCELLED' && code !== 'PAYLOAD_TOO_LARGE' && details?.reason !== 'context_length';

/** A refused request is refused whichever key it comes with: only another model may take it. */
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

/** The candidate to ask although all cool; undefined when one is ready. */
const soonest = (catalog: ModelCatalog, chain: readonly Candidate[]): Candidate | undefined => {
  const waits = chain.map((candidate) => catalog.coolDowns.remainingMs(candidate.place));
  const least = Math.min(...waits);
  return least > 0 ? chain[waits.indexOf(least)] : undefined;
};
