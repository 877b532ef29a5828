/**
 * Named schemas of the published documents: OpenAPI 3.1 for HTTP, AsyncAPI 3.0 for NATS. They are
 * generated from the TypeBox schemas that validate requests, so the documents and the checks agree.
 */
import { ActionSpecSchema, Deprecation } from '../action.ts';
import { EnvelopeSchema } from '../envelope.ts';
import { RefusedEventSchema } from '../refused-event.ts';
import {
  EvidenceSchema,
  RefusalSchema,
  TaskEventSchema,
  TaskViewSchema,
  WaitingSchema,
  WireErrorSchema,
} from '../task.ts';

export type Schema = { readonly [keyword: string]: unknown };
export type Schemas = { readonly [name: string]: Schema };

const NAMED = {
  Envelope: EnvelopeSchema,
  Task: TaskViewSchema,
  TaskEvent: TaskEventSchema,
  Refusal: RefusalSchema,
  RefusedEvent: RefusedEventSchema,
  WireError: WireErrorSchema,
  Waiting: WaitingSchema,
  Evidence: EvidenceSchema,
  ActionSpec: ActionSpecSchema,
  Deprecation,
} as const;
type Name = keyof typeof NAMED;

/**
 * The schemas by name. A schema that contains another one has a `$ref` to `{base}{name}`. JSON
 * values only.
 */
export function schemaTable(base = '#/$defs/'): Record<Name, Schema> {
  const plain = Object.entries(NAMED).map(([name, schema]) => [name, toJson(schema)] as const);
  const names = new Map(plain.map(([name, schema]) => [JSON.stringify(schema), name]));
  return Object.fromEntries(
    plain.map(([name, schema]) => {
      const { $id: _, ...rest } = withRefs(schema, names, base, true) as Schema;
      return [name, { ...rest, title: name }];
    }),
  ) as unknown as Record<Name, Schema>;
}

/** The JSON form of a TypeBox schema. */
export const toJson = (schema: object): Schema => JSON.parse(JSON.stringify(schema)) as Schema;

/**
 * Replaces each schema in `names` by a `$ref` to `{base}{name}`. The keys of `names` are the JSON
 * of the schemas. `isRoot`: the value itself is not replaced.
 */
export function withRefs(
  value: unknown,
  names: ReadonlyMap<string, string>,
  base: string,
  isRoot = false,
): unknown {
  if (Array.isArray(value)) return value.map((item) => withRefs(item, names, base));
  if (typeof value !== 'object' || value === null) return value;
  const name = isRoot ? undefined : names.get(JSON.stringify(value));
  if (name !== undefined) return { $ref: base + name };
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [key, withRefs(field, names, base)]),
  );
}
