/**
 * Checks values against external schemas: of registered agents and of commands of devices. Ajv is
 * loaded with the first schema.
 */
import { describeErrors } from '../../protocols/check.ts';
import { errorData } from '../../protocols/errors.ts';
import { LruMap } from '../lru-map.ts';
import type { SchemaCheck } from './compile-schema.ts';

export type { SchemaCheck } from './compile-schema.ts';

/** As `compileSchema`. @throws TroupeError INVALID_ARGUMENT */
export const schemaCheck = async (schema: Record<string, unknown>): Promise<SchemaCheck> => {
  const { compileSchema } = await import('./compile-schema.ts');
  return compileSchema(schema);
};

const KEPT_MAX = 200;
/** By the schema's text; an unreadable schema is kept as its error message. */
const kept = new LruMap<string, SchemaCheck | string>(KEPT_MAX);

/**
 * The problem of a value by an external schema; undefined without a problem. An unreadable or slow
 * schema accepts nothing. Never throws.
 */
export const schemaComplaint = async (
  schema: Record<string, unknown>,
  value: unknown,
): Promise<string | undefined> => {
  const text = JSON.stringify(schema);
  const check = kept.get(text) ?? (await keep(text, schema));
  if (typeof check === 'string') return `the schema cannot be read: ${check}`;
  try {
    const errors = check(value);
    return errors.length === 0 ? undefined : describeErrors(errors);
  } catch (error) {
    return errorData(error).message;
  }
};

const keep = async (
  text: string,
  schema: Record<string, unknown>,
): Promise<SchemaCheck | string> => {
  const made = await schemaCheck(schema).catch((error: unknown) => errorData(error).message);
  kept.set(text, made);
  return made;
};
