/**
 * Arbitrary valid values of a JSON Schema, for the subset of JSON Schema that protocol schemas use.
 */
import * as fc from 'fast-check';

/** The supported keywords. */
type Schema = {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly maxProperties?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
};

const jsonText = fc.string({ maxLength: 12 });
const anyJson = fc.jsonValue({ maxDepth: 1 });

/** @param schema a JSON Schema; keywords beyond `Schema` are ignored */
export const admittedBy = (schema: object): fc.Arbitrary<unknown> => valuesOf(schema);

const valuesOf = (schema: Schema): fc.Arbitrary<unknown> => {
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(admittedBy));
  switch (schema.type) {
    case undefined:
      return anyJson;
    case 'object':
      return objectOf(schema);
    case 'array': {
      const { minItems = 0, maxItems = minItems + 2 } = schema;
      const bounds = { minLength: minItems, maxLength: Math.min(maxItems, minItems + 2) };
      const item = admittedBy(schema.items ?? {});
      return schema.uniqueItems ? fc.uniqueArray(item, bounds) : fc.array(item, bounds);
    }
    case 'string':
      return textOf(schema);
    case 'integer':
      return fc.integer({
        min: schema.minimum ?? -100,
        max: schema.maximum ?? (schema.minimum ?? 0) + 1_000_000,
      });
    case 'number':
      return fc.double({
        noNaN: true,
        noDefaultInfinity: true,
        min: schema.minimum ?? -1e6,
        max: schema.maximum ?? 1e6,
      });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      throw new Error(`no values are known for the schema type ${schema.type}`);
  }
};

const objectOf = (schema: Schema): fc.Arbitrary<unknown> => {
  const values = schema.patternProperties && Object.values(schema.patternProperties)[0];
  if (values)
    return fc.dictionary(jsonText, admittedBy(values), {
      maxKeys: Math.min(3, schema.maxProperties ?? 3),
    });
  const fields = Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, field]) => [name, admittedBy(field)]),
  );
  return fc.record(fields, { requiredKeys: [...(schema.required ?? [])] });
};

const textOf = ({
  pattern,
  minLength = 0,
  maxLength = minLength + 12,
}: Schema): fc.Arbitrary<string> =>
  pattern === undefined
    ? fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 12) })
    : fc.stringMatching(new RegExp(pattern));
