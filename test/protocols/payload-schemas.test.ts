/** The published schemas of payloads equal the schemas that entry points validate. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shippedActions, shippedSpecs } from '../../compose/actions.ts';
import { schemaPath } from '../../protocols/action.ts';
import { checker } from '../../protocols/check.ts';

const folder = fileURLToPath(new URL('../../protocols/schemas', import.meta.url));
const published = (path: string) =>
  JSON.parse(readFileSync(join(folder, path), 'utf8')) as JsonSchema;

type JsonSchema = {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly items?: JsonSchema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
};

/** Values that a schema allows. */
function allowed(schema: JsonSchema): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(allowed));
  const { minimum = 0, maximum = 1_000 } = schema;
  switch (schema.type) {
    case 'string':
      return texts(schema);
    case 'integer':
      return fc.integer({ min: minimum, max: maximum });
    case 'number':
      return fc.double({ min: minimum, max: maximum, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(allowed(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: 3,
      });
    case 'object':
      return objects(schema);
    default:
      return fc.jsonValue();
  }
}

function texts({ pattern, format, minLength = 0, maxLength = 200 }: JsonSchema) {
  const times = fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) });
  if (format === 'date-time') return times.map((ms) => new Date(ms).toISOString());
  if (pattern === undefined) return fc.string({ minLength, maxLength: Math.min(maxLength, 40) });
  return fc.stringMatching(new RegExp(pattern), { maxLength });
}

const objects = ({ properties = {}, required = [] }: JsonSchema) =>
  fc.record(
    Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, allowed(field)])),
    { requiredKeys: [...required] },
  );

/** A payload with one field missing, invalid, or added. */
const spoilt = (schema: JsonSchema) =>
  fc
    .tuple(
      objects(schema),
      fc.constantFrom(...Object.keys(schema.properties ?? {}), 'unheard_of'),
      fc.oneof(fc.constant(undefined), fc.jsonValue()),
    )
    .map(([payload, name, value]) => JSON.parse(JSON.stringify({ ...payload, [name]: value })));

describe('the schema of a payload', () => {
  it.each(
    shippedSpecs().flatMap(({ action, action_version, schemas }) =>
      Object.keys(schemas).map((version) => [action, action_version, version, schemas] as const),
    ),
  )('of %s %s is published, for each schema version (%s)', (action, _, version, schemas) => {
    const {
      $schema,
      $comment: _comment,
      title,
      description,
      ...schema
    } = published(schemaPath(action, version)) as Record<string, unknown>;
    expect({ $schema, title }).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: action,
    });
    expect(description).toEqual(expect.any(String));
    // JSON omits the symbols that TypeBox adds.
    expect(JSON.parse(JSON.stringify(schemas[version]))).toMatchObject(schema);
  });

  const judged = shippedActions().flatMap(({ action, version: of, schemas }) =>
    Object.entries(schemas).map(([version, schema]) => ({ action, of, version, schema })),
  );
  it.each(judged)(
    'of $action $of has the same results with another validator as at the entry point',
    (own) => {
      const ajv = new Ajv2020({ strict: false });
      formats.default(ajv);
      const file = published(schemaPath(own.action, own.version));
      const theirs = ajv.compile(file);
      const ours = checker(own.schema);
      fc.assert(
        fc.property(allowed(file), (payload) => {
          const plain: unknown = JSON.parse(JSON.stringify(payload));
          expect([theirs(plain), ours(plain).ok]).toEqual([true, true]);
        }),
        { numRuns: 50 },
      );
      fc.assert(
        fc.property(spoilt(file), (payload) => {
          expect(theirs(payload)).toBe(ours(payload).ok);
        }),
        { numRuns: 100 },
      );
    },
  );
});
