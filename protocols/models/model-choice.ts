/**
 * ModelChoice: the model and the thinking level that a client asks for, checked before anything is
 * stored or sent. A wrong name is refused with the names that exist.
 *
 * Boundary: the catalog of the process says which models there are; the caller says which model
 * applies where the client names none.
 */
import { errorData, TroupeError } from '../errors.ts';

/** What the model catalog answers. */
export type ModelRules = {
  /** @throws TroupeError INVALID_ARGUMENT that names what exists */
  resolve(name: string): { readonly name: string };
  /** Levels of the model, `off` first; every level for an unknown model. Does not throw. */
  thinkingLevels(name: string): readonly string[];
};

export type ModelChoice = {
  readonly model?: string | null | undefined;
  readonly thinking?: string | null | undefined;
};

/** Paths of the two parameters, as the error names them. */
export type ChoicePaths = { readonly model: string; readonly thinking: string };
export const CHOICE_PATHS: ChoicePaths = { model: '/model', thinking: '/thinking' };

/**
 * Absent, null and empty values pass: they ask for nothing.
 * @param modelNow the model that answers where `choice` names none
 * @throws TroupeError INVALID_ARGUMENT with the parameter's path and the allowed values
 */
export const checkModelChoice = (...check: Parameters<typeof modelChoiceProblem>): void => {
  const problem = modelChoiceProblem(...check);
  if (problem) throw problem;
};

/** What `checkModelChoice` throws. */
export const modelChoiceProblem = (
  rules: ModelRules,
  { model, thinking }: ModelChoice,
  modelNow: string,
  paths: ChoicePaths = CHOICE_PATHS,
): TroupeError | undefined => {
  const unknown = model ? modelProblem(rules, model, paths.model) : undefined;
  if (unknown || !thinking) return unknown;
  const name = model || modelNow;
  const levels = rules.thinkingLevels(name);
  if (levels.includes(thinking)) return undefined;
  const level = JSON.stringify(thinking.slice(0, 60));
  return new TroupeError(
    'INVALID_ARGUMENT',
    `${paths.thinking}: ${name} has no thinking level ${level}; allowed: ${levels.join(', ')}`,
    { details: { path: paths.thinking, allowed: [...levels] } },
  );
};

const modelProblem = (rules: ModelRules, model: string, path: string): TroupeError | undefined => {
  try {
    rules.resolve(model);
    return undefined;
  } catch (cause) {
    const { code, message } = errorData(cause);
    return new TroupeError(code, `${path}: ${message}`, { details: { path }, cause });
  }
};
