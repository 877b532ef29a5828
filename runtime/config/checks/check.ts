/**
 * Checks a value against the configuration's schema and says what is wrong in words.
 *
 * Boundary: one field at a time. Rules between fields are in cross-checks.ts.
 */
import type { TSchema } from '@sinclair/typebox';
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors';
import { Value } from '@sinclair/typebox/value';
import { patternInWords } from '../../../protocols/pattern-words.ts';
import { childSchema, holdsSecret, isSecret } from '../schema/fields.ts';
import { childPointer, parentPointer, parsePointer } from '../pointer.ts';
import { redacted, type Secret } from '../secret.ts';
import { nearest } from './suggest.ts';

/** A problem that still has its pointer, so that the loader can name the source of the value. */
export type Finding = {
  readonly pointer: string;
  readonly message: string;
  readonly value?: string;
  readonly allowed?: string;
};

/** At most one finding per field, in the schema's order. */
export function checkShape(schema: TSchema, value: unknown): Finding[] {
  const findings = new Map<string, Finding>();
  for (const error of Value.Errors(schema, value)) {
    if (!findings.has(error.path)) findings.set(error.path, findingOf(schema, error));
  }
  // A section that is no section at all says so once: not again for every key that it lacks.
  return [...findings.values()].filter(({ pointer }) => !findings.has(parentPointer(pointer)));
}

/**
 * Lists where an object belongs. Looked for before defaults are filled in, which would turn them
 * into one.
 */
export function misplacedLists(schema: TSchema, value: unknown, pointer = ''): Finding[] {
  if (schema.type === 'object' && Array.isArray(value)) {
    return [
      {
        pointer,
        message: 'is not allowed',
        value: showValue(value, schema),
        allowed: allowed(schema),
      },
    ];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const inner = childSchema(schema, key);
    return inner ? misplacedLists(inner, child, childPointer(pointer, key)) : [];
  });
}

function findingOf(root: TSchema, error: ValueError): Finding {
  const pointer = error.path;
  if (error.type === ValueErrorType.ObjectAdditionalProperties) return unknownKey(error);
  if (error.value === undefined) {
    return { pointer, message: 'is missing', allowed: allowed(error.schema) };
  }
  const schema = schemaAt(root, pointer) ?? error.schema;
  return {
    pointer,
    message: 'is not allowed',
    value: showValue(error.value, schema),
    allowed: allowed(schema),
  };
}

/** The value of an unknown key is never shown: it may be a secret under a misspelled name. */
function unknownKey({ path: pointer, schema }: ValueError): Finding {
  const key = parsePointer(pointer).at(-1) ?? '';
  const known = Object.keys((schema.properties ?? {}) as Record<string, unknown>);
  if (known.length === 0) {
    const patterns = Object.keys((schema.patternProperties ?? {}) as Record<string, unknown>);
    const named = patterns.map(
      (pattern) => `a name of ${patternInWords(pattern) ?? `the form ${pattern}`}`,
    );
    return {
      pointer,
      message: 'cannot be used as a name here',
      ...(named.length > 0 && { allowed: named.join(', or ') }),
    };
  }
  const guess = nearest(key, known);
  const message = guess ? `unknown key; did you mean ${guess}?` : 'unknown key';
  return { pointer, message, allowed: known.join(', ') };
}

function schemaAt(root: TSchema, pointer: string): TSchema | undefined {
  return parsePointer(pointer).reduce<TSchema | undefined>(
    (schema, key) => (schema ? childSchema(schema, key) : undefined),
    root,
  );
}

const shownCharactersMax = 80;

/** The value for a person: short, and hidden where a secret may be in it. */
export function showValue(value: unknown, schema?: TSchema): string {
  if (schema && holdsSecret(schema)) return redacted;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = typeof value === 'number' ? String(value) : withoutLogin(JSON.stringify(value));
  return text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text;
}

/** Without a URL's user and password: a secret in a place that is not meant for one. */
export const withoutLogin = (text: string): string =>
  text.replaceAll(/:\/{2,}[^\s/?#]*@/g, `://${redacted}@`);

/** What a schema allows, in words. */
export function allowed(schema: TSchema): string {
  if (typeof schema['x-allowed'] === 'string') return schema['x-allowed'];
  if (schema.anyOf) return words(schema.anyOf as TSchema[]);
  if (schema.type === 'boolean') return 'true or false';
  if (schema.type === 'integer') return `a whole number${range(schema)}`;
  if (schema.type === 'number') return `a number${range(schema)}`;
  if (schema.type === 'array') return `a list, each ${allowed(schema.items as TSchema)}`;
  if (schema.type === 'object') return objectForm(schema);
  return schema.minLength ? 'a non-empty text' : 'a text';
}

const words = (literals: readonly TSchema[]) =>
  literals.map((literal) => JSON.stringify(literal.const)).join(', ');

function range({ minimum, maximum }: TSchema): string {
  if (maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  return minimum === undefined ? '' : `, at least ${minimum}`;
}

function objectForm(schema: TSchema): string {
  const keys = Object.keys((schema.properties ?? {}) as Record<string, unknown>);
  return keys.length === 0 ? 'an object' : `an object with ${keys.join(', ')}`;
}

/** Calls `visit` for each secret in the value and replaces the reference with its result. */
export function replaceSecrets(
  schema: TSchema,
  value: unknown,
  visit: (reference: unknown, pointer: string) => Secret | undefined,
  pointer = '',
): unknown {
  if (value === undefined) return undefined;
  if (isSecret(schema)) return visit(value, pointer);
  if (!holdsSecret(schema) || typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, child]) => {
    const inner = childSchema(schema, key);
    return [
      key,
      inner ? replaceSecrets(inner, child, visit, childPointer(pointer, key)) : child,
    ] as const;
  });
  if (Array.isArray(value)) return entries.map(([, child]) => child);
  return Object.fromEntries(entries.filter(([, child]) => child !== undefined));
}
