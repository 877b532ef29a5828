/** The error of a chain in which every attempt failed. Pure. */
import { defined } from '../../protocols/defined.ts';
import { ERRORS, TroupeError } from '../../protocols/errors.ts';

/** The outcome of one candidate: it failed, or it was skipped during its cool-down. */
export type Attempt = {
  /** `provider/model` */
  readonly model: string;
  readonly profile: string;
  readonly error?: TroupeError;
  readonly coolsMs?: number;
};

/**
 * A single attempt's own error; otherwise an error with each attempt in `details.attempts`. Its
 * code is that of the attempt that can be retried soonest, or of the first when none can be
 * retried.
 */
export const chainError = (attempts: readonly Attempt[]): TroupeError => {
  const failed = attempts.flatMap(({ error }) => (error ? [error] : []));
  const [first] = failed;
  if (first === undefined)
    return new TroupeError('INVALID_ARGUMENT', 'The list of models is empty');
  if (attempts.length === 1) return first;
  const retriable = failed
    .filter(({ code }) => ERRORS[code].retriable)
    .sort((a, b) => (a.retryAfterMs ?? 0) - (b.retryAfterMs ?? 0));
  const { code, retryAfterMs, details } = retriable[0] ?? first;
  const words = `No model could answer: ${attempts.map(inWords).join('; ')}`;
  return new TroupeError(code, words, {
    details: { ...details, attempts: attempts.map(dataOf) },
    ...defined({ retryAfterMs }),
  });
};

const inWords = ({ model, profile, error, coolsMs = 0 }: Attempt): string => {
  const who = profile === '' ? model : `${model} (profile ${profile})`;
  return error
    ? `${who}: ${error.code}, ${error.message}`
    : `${who} was skipped: it failed before and is in cool-down for ${Math.ceil(coolsMs / 1_000)} s`;
};

const dataOf = ({ model, profile, error, coolsMs }: Attempt): Record<string, unknown> => ({
  model,
  profile,
  ...(error ? { code: error.code, message: error.message } : { coolsMs }),
});
