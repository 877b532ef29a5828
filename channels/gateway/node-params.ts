/**
 * Parameters of a node's command against the JSON Schema that the node gave (ND1). Schemas come
 * from outside: one that can not be read fits nothing. Loaded when the first command needs it.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

const SCHEMAS_KEPT = 500;
const ERRORS_SHOWN = 3;

/** by the schema's text */
const compiled = new Map<string, ValidateFunction | string>();

/** What is wrong with `params`; undefined: they fit. */
export const complaintAbout = (schema: object, params: unknown): string | undefined => {
  const fits = checkerOf(schema);
  if (typeof fits === 'string') return `the node's schema can not be read: ${fits}`;
  if (fits(params)) return undefined;
  return (fits.errors ?? [])
    .slice(0, ERRORS_SHOWN)
    .map(({ instancePath, message = 'does not fit' }) => `${instancePath} ${message}`.trim())
    .join('; ');
};

const checkerOf = (schema: object): ValidateFunction | string => {
  const text = JSON.stringify(schema);
  const known = compiled.get(text);
  if (known !== undefined) return known;
  if (compiled.size >= SCHEMAS_KEPT) compiled.clear();
  const made = compile(schema);
  compiled.set(text, made);
  return made;
};

const compile = (schema: object): ValidateFunction | string => {
  try {
    const ajv = new Ajv2020({ strict: false, allErrors: false, addUsedSchema: false });
    return ajv.compile(schema);
  } catch (error) {
    return (error as Error).message.slice(0, 200);
  }
};
