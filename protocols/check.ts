/**
 * Validates external values against TypeBox schemas, with errors that a user can act on.
 *
 * Boundary: defines no schema except those of common texts. TypeBox refuses unregistered formats,
 * so this file registers the text formats.
 */
import {
  FormatRegistry,
  Kind,
  type Static,
  type StringOptions,
  type TSchema,
  type TString,
  Type,
  TypeRegistry,
} from '@sinclair/typebox';
import {
  type TypeCheck,
  TypeCompiler,
  type ValueError,
  ValueErrorType,
} from '@sinclair/typebox/compiler';
import { patternInWords } from './pattern-words.ts';

export type CheckError = {
  /** JSON pointer (RFC 6901) into the value; '' is the value itself */
  readonly path: string;
  readonly message: string;
  /** the value found, if it is a short scalar and not secret */
  readonly value?: string | number | boolean | null;
};
export type CheckAnswer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly errors: readonly CheckError[] };

export type CheckOptions = {
  /** errors at a path that matches never contain the value */
  readonly secret?: RegExp;
};

/** Maximum number of errors reported at once, one per path. */
export const CHECK_ERRORS_MAX = 20;
const VALUE_CHARACTERS_MAX = 120;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const DATE_TIME =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
// https://semver.org, "suggested regular expression"
const SEMVER =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$/;

const isDateTime = (text: string): boolean => {
  const parts = DATE_TIME.exec(text);
  // Day 0 of the next month is the last day of this one.
  return (
    parts !== null &&
    Number(parts[3]) <= new Date(Date.UTC(Number(parts[1]), Number(parts[2]), 0)).getUTCDate()
  );
};

/**
 * The `date-time` text in milliseconds since 1970. Never NaN: `Date` does not support leap seconds,
 * so a leap second counts as the second before it.
 */
export const epochMsOf = (dateTime: string): number => {
  const ms = Date.parse(dateTime);
  if (!Number.isNaN(ms)) return ms;
  return Date.parse(dateTime.toUpperCase().replace(/:60(?=[.Z+-])/, ':59'));
};

/** For a format or a pattern: the expected value. Follows "must be" in errors. */
const expectations = new Map<string, string>([
  ['uuid', 'a UUID, as 018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f60'],
  ['date-time', 'an RFC 3339 time with its offset, as 2026-01-31T09:30:00Z'],
]);
FormatRegistry.Set('uuid', (text) => UUID.test(text));
FormatRegistry.Set('date-time', isDateTime);

// `Type.Unsafe` gives a plain JSON Schema a static type, but TypeBox does not check it. Two forms
// are supported here: a list of values and an open object.
TypeRegistry.Set<TSchema>('Unsafe', (schema, value) =>
  Array.isArray(schema['enum'])
    ? schema['enum'].includes(value)
    : schema['type'] === 'object' &&
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value),
);

/**
 * Schema of a text with a pattern. It uses a pattern and not a custom format, because other
 * validators refuse unknown formats. @param expected the expected value, such as "a semantic
 * version, as 1.0.0"
 */
export const textMatching = (
  pattern: RegExp,
  expected: string,
  options: StringOptions = {},
): TString => {
  expectations.set(pattern.source, expected);
  return Type.String({ ...options, pattern: pattern.source });
};

export const TraceId = textMatching(
  /^(?!0{32}$)[0-9a-f]{32}$/,
  'a W3C trace id: 32 lower-case hex digits, not all zero',
);
export const SemanticVersion = textMatching(SEMVER, 'a semantic version, as 1.0.0');

/** A validator for the schema, compiled on first use. */
export const checker = <S extends TSchema>(
  schema: S,
  options: CheckOptions = {},
): ((value: unknown) => CheckAnswer<Static<S>>) => {
  let compiled: TypeCheck<S> | undefined;
  return (value) => {
    compiled ??= TypeCompiler.Compile(schema);
    if (compiled.Check(value)) return { ok: true, value };
    return { ok: false, errors: errorsOf(compiled.Errors(value), options) };
  };
};

const errorsOf = (found: Iterable<ValueError>, options: CheckOptions): readonly CheckError[] => {
  const errors = new Map<string, CheckError>();
  for (const error of found) {
    // TypeBox reports a missing field twice: as missing, then as of the wrong type.
    if (!errors.has(error.path)) errors.set(error.path, checkError(error, options));
    if (errors.size === CHECK_ERRORS_MAX) break;
  }
  return [...errors.values()];
};

const checkError = (found: ValueError, { secret }: CheckOptions): CheckError => {
  const error = sharpen(found);
  const { path, value } = error;
  const message = messageOf(error);
  if (secret?.test(path) || !isScalar(value)) return { path, message };
  const shown =
    typeof value === 'string' && value.length > VALUE_CHARACTERS_MAX
      ? `${value.slice(0, VALUE_CHARACTERS_MAX)}…`
      : value;
  return { path, message, value: shown };
};

const isScalar = (value: unknown): value is string | number | boolean | null =>
  value === null ||
  typeof value === 'string' ||
  typeof value === 'number' ||
  typeof value === 'boolean';

const messageOf = (error: ValueError): string =>
  MESSAGES[error.type]?.(error) ?? error.message.replace(/^Expected /, 'must be ');

/** Messages for errors whose TypeBox text does not say what to do. */
const MESSAGES: Partial<Record<ValueErrorType, (error: ValueError) => string | undefined>> = {
  [ValueErrorType.ObjectRequiredProperty]: () => 'is required',
  [ValueErrorType.ObjectAdditionalProperties]: () => 'is not a known field',
  [ValueErrorType.Literal]: ({ schema }) => `must be ${JSON.stringify(schema.const)}`,
  [ValueErrorType.StringFormat]: ({ schema }) =>
    `must be ${expectations.get(schema.format as string) ?? `a ${schema.format}`}`,
  [ValueErrorType.StringPattern]: ({ schema }) => {
    const pattern = schema.pattern as string;
    const expected = expectations.get(pattern) ?? patternInWords(pattern);
    return expected === undefined ? `must match ${pattern}` : `must be ${expected}`;
  },
  [ValueErrorType.StringMinLength]: ({ schema }) =>
    schema.minLength === 1
      ? 'must not be empty'
      : `must have at least ${schema.minLength} characters`,
  [ValueErrorType.StringMaxLength]: ({ schema }) =>
    `must have at most ${schema.maxLength} characters`,
  [ValueErrorType.ArrayMinItems]: ({ schema }) =>
    schema.minItems === 1 ? 'must not be empty' : `must have at least ${schema.minItems} items`,
  [ValueErrorType.ArrayUniqueItems]: () => 'must have each item once',
  [ValueErrorType.ArrayMaxItems]: ({ schema }) => `must have at most ${schema.maxItems} items`,
  [ValueErrorType.IntegerMinimum]: ({ schema }) => `must be at least ${schema.minimum}`,
  [ValueErrorType.IntegerMaximum]: ({ schema }) => `must be at most ${schema.maximum}`,
  [ValueErrorType.NumberMinimum]: ({ schema }) => `must be at least ${schema.minimum}`,
  [ValueErrorType.NumberMaximum]: ({ schema }) => `must be at most ${schema.maximum}`,
  [ValueErrorType.NumberExclusiveMinimum]: ({ schema }) =>
    `must be above ${schema.exclusiveMinimum}`,
  [ValueErrorType.NumberExclusiveMaximum]: ({ schema }) =>
    `must be below ${schema.exclusiveMaximum}`,
  [ValueErrorType.Union]: ({ schema }) => unionMessage(schema),
  [ValueErrorType.Kind]: ({ schema }) =>
    Array.isArray(schema['enum'])
      ? `must be one of ${schema['enum'].map((value) => JSON.stringify(value)).join(', ')}`
      : 'must be an object',
};

/** "must be one of …" if every branch is a literal. */
const unionMessage = (schema: TSchema): string | undefined => {
  const branches = (schema.anyOf ?? []) as readonly TSchema[];
  if (branches.length === 0 || !branches.every((branch) => branch[Kind] === 'Literal'))
    return undefined;
  return `must be one of ${branches.map((branch) => JSON.stringify(branch.const)).join(', ')}`;
};

/** For any other union: the error of the branch with the fewest errors. */
const sharpen = (error: ValueError): ValueError => {
  if (error.type !== ValueErrorType.Union || unionMessage(error.schema) !== undefined) return error;
  const branches = error.errors.map((branch) => [...branch].slice(0, CHECK_ERRORS_MAX));
  const nearest = branches.toSorted((a, b) => a.length - b.length)[0]?.[0];
  return nearest === undefined ? error : sharpen(nearest);
};

/** The errors as one line: `/client/id must be one of …; /role is required`. */
export const describeErrors = (errors: readonly CheckError[]): string =>
  errors
    .map((error) => `${error.path === '' ? 'the value' : error.path} ${error.message}`)
    .join('; ');
