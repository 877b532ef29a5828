/**
 * Repairs a configuration with mistakes into one whose types are correct, so that rules between
 * fields can check it, too, and one report names every problem.
 *
 * Boundary: the repaired configuration is never used by a process; its faulty fields are in the
 * report already. List indices stay unchanged, because findings name them. Pure.
 */
import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { childSchema, childSchemas, isSecret } from '../schema/fields.ts';
import { childPointer } from '../pointer.ts';

/** `faulty`: pointers of the fields that the schema refuses. */
export function repairedValue(
  schema: TSchema,
  value: unknown,
  faulty: ReadonlySet<string>,
): unknown {
  return Value.Default(schema, repaired(schema, value, { faulty, pointer: '', isRequired: true }));
}

type Place = {
  readonly faulty: ReadonlySet<string>;
  readonly pointer: string;
  readonly isRequired: boolean;
};

function repaired(schema: TSchema, given: unknown, place: Place): unknown {
  if (isSecret(schema)) return given;
  const value = place.faulty.has(place.pointer) ? instead(schema, given, place) : given;
  if (childSchemas(schema).length === 0) return value;
  if (Array.isArray(value)) {
    return value.map((child: unknown, index) => childOf(schema, `${index}`, child, place));
  }
  if (typeof value !== 'object' || value === null) return value;
  const required = new Set((schema.required ?? []) as string[]);
  const keys = new Set([...Object.keys(value), ...required]);
  const entries = [...keys].map((key) => {
    const child: unknown = (value as Record<string, unknown>)[key];
    return [key, childOf(schema, key, child, place, required.has(key))] as const;
  });
  return Object.fromEntries(entries.filter(([, child]) => child !== undefined));
}

function childOf(
  schema: TSchema,
  key: string,
  child: unknown,
  { faulty, pointer }: Place,
  isRequired = Array.isArray(schema.items) || schema.type === 'array',
): unknown {
  const at = childPointer(pointer, key);
  const inner = childSchema(schema, key);
  // A key that the schema does not contain.
  if (inner === undefined) return faulty.has(at) ? undefined : child;
  const place = { faulty, pointer: at, isRequired };
  const isMissing = child === undefined && isRequired;
  return repaired(inner, isMissing ? instead(inner, child, place) : child, place);
}

/** The default, else what was written where its type is right, else an empty value. */
function instead(schema: TSchema, value: unknown, { isRequired }: Place): unknown {
  if ('default' in schema) return structuredClone(schema.default) as unknown;
  if (typeof schema.type === 'string' && typeOf(value) === schema.type) return value;
  return isRequired ? empty(schema) : undefined;
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function empty(schema: TSchema): unknown {
  const [first] = (schema.anyOf ?? []) as TSchema[];
  if (first) return empty(first);
  if ('const' in schema) return schema.const as unknown;
  switch (schema.type) {
    case 'string':
      return '';
    case 'boolean':
      return false;
    case 'array':
      return [];
    case 'object':
      return {};
    default:
      return 0;
  }
}
