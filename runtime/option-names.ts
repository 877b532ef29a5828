/**
 * Options that a program in JavaScript forgot or misspelled: a misspelled one that is ignored would
 * mean its default.
 */
import { TroupeError } from '../protocols/errors.ts';
import { nearest, withGuess } from './config/checks/suggest.ts';

/** A table with each option, so that none can be forgotten: `satisfies OptionNames<Options>`. */
export type OptionNames<Options> = {
  readonly [Name in keyof Options]-?: object extends Pick<Options, Name> ? 'optional' : 'required';
};

/**
 * @throws TroupeError INVALID_ARGUMENT that names the first option that is not known, or all that
 *   are missing. @param of the function
 */
export function checkOptions(of: string, value: object | undefined, table: object): void {
  const given = new Map<string, unknown>(Object.entries(value ?? {}));
  checkNames(of, value ?? {}, table);
  const missing = Object.entries(table)
    .filter(([name, kind]) => kind === 'required' && given.get(name) === undefined)
    .map(([name]) => name);
  if (missing.length > 0)
    throw new TroupeError('INVALID_ARGUMENT', `${of} needs the options ${missing.join(', ')}`);
}

/**
 * @throws TroupeError INVALID_ARGUMENT that names the first one, or what is no object. @param of
 *   the function
 */
export function checkNames(of: string, value: unknown, table: object, path = ''): void {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null) {
    const what = path === '' ? 'its argument' : path.slice(0, -1);
    const shown = JSON.stringify(value) ?? typeof value;
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${of}: ${what} is ${shown}, it must be an object with the options ${Object.keys(table).join(', ')}`,
    );
  }
  const [problem] = unknownNames(path, value, Object.keys(table));
  if (problem) throw new TroupeError('INVALID_ARGUMENT', `${of}: ${problem}`);
}

/**
 * A text for each name of `value` that is not known; [] when all are.
 * @param path before each name, such as `mailbox.`
 */
export const unknownNames = (
  path: string,
  value: object = {},
  known: readonly string[],
): string[] =>
  Object.keys(value)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const guess = nearest(name, known);
      const problem = `${path}${name} is not an option; options: ${known.join(', ')}`;
      return withGuess(problem, guess && `${path}${guess}`);
    });
