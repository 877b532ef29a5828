/**
 * Schemas of agents outside, as checks: JSON Schema 2020-12 with the usual formats. What TypeBox
 * compiles is ours; these come from others, so they are never loaded from elsewhere and share
 * nothing with each other.
 */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { CheckError } from '../../../protocols/check.ts';
import { TroupeError } from '../../../protocols/errors.ts';

export type SchemaCheck = (value: unknown) => readonly CheckError[];

// The first error only: looking for all of them lets a payload choose how long that takes.
const ajv = new Ajv2020({ strict: false, addUsedSchema: false, allErrors: false, logger: false });
addFormats.default(ajv);

/**
 * A check of values: the first error with its path, or []. Errors never show the value.
 * @throws TroupeError INVALID_ARGUMENT when it is no schema, or refers to another document
 */
export function compileSchema(schema: Record<string, unknown>): SchemaCheck {
  try {
    const validate = ajv.compile(schema);
    return (value) => (validate(value) ? [] : (validate.errors ?? []).map(checkError));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TroupeError('INVALID_ARGUMENT', `it is no JSON Schema 2020-12: ${why}`, { cause });
  } finally {
    // Ajv remembers by the object, for ever.
    ajv.removeSchema(schema);
  }
}

const checkError = ({ instancePath, keyword, params, message }: ErrorObject): CheckError => {
  if (keyword === 'required')
    return {
      path: `${instancePath}/${pointer(params['missingProperty'])}`,
      message: 'is required',
    };
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') {
    const field = params['additionalProperty'] ?? params['unevaluatedProperty'];
    return { path: `${instancePath}/${pointer(field)}`, message: 'is not a known field' };
  }
  return { path: instancePath, message: message ?? 'is not as the schema says' };
};

/** A field's name as part of a JSON pointer (RFC 6901). */
const pointer = (field: unknown): string =>
  String(field).replaceAll('~', '~0').replaceAll('/', '~1');
