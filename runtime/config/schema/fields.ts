/**
 * The kinds of field in the configuration's schema, on TypeBox.
 *
 * One schema describes the configuration after loading, when every field with a default is present.
 * In the published form (`inputForm`), which describes the file, such a field is optional. Extra
 * keywords, visible in the published schema: `x-secret` (never print the value), `x-allowed`
 * (allowed values as text), `x-same-as` (the section with the same keys), `x-applied` (when a
 * change takes effect).
 */
import {
  type Static,
  type SchemaOptions,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
} from '@sinclair/typebox';
import type { Secret } from '../secret.ts';

/** An object of known keys, present also when the file omits it. Unknown keys are refused. */
export const section = <P extends TProperties>(description: string, properties: P) =>
  Type.Object(properties, { description, default: {}, additionalProperties: false });

/** An optional object of known keys. Unknown keys are refused. */
export const record = <P extends TProperties>(description: string, properties: P) =>
  Type.Object(properties, { description, additionalProperties: false });

/** One of a few words. */
export const oneOf = <const W extends readonly string[]>(words: W, options: SchemaOptions) =>
  Type.Unsafe<W[number]>(
    Type.Union(
      words.map((word) => Type.Literal(word)),
      options,
    ),
  );

/**
 * Where `fetch` sends requests: it refuses a URL with a login, and its error shows the password.
 */
export const requestUrl = (description: string) =>
  Type.String({
    pattern: '^https?://([^\\s/?#@:[\\]]+|\\[[^\\s/?#@\\]]+\\])(:\\d*)?([/?#].*)?$',
    'x-allowed': 'an http:// or https:// URL without a user name or password',
    description,
  });

const plainText = Type.String({ minLength: 1 });

/** Labels of workers, by name. */
export const labelsOf = (description: string) =>
  Type.Record(
    Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,62}$' }),
    Type.String({ minLength: 1, maxLength: 100, description: 'value of the label' }),
    { default: {}, additionalProperties: false, description },
  );

/** A secret, written as a text or as a reference; a `Secret` once loaded. */
export const secret = (description: string): TUnsafe<Secret> =>
  Type.Unsafe<Secret>(
    Type.Union(
      [
        plainText,
        record('value of an environment variable', { env: plainText }),
        record('first line of a file', { file: plainText }),
        record('output of a command', { command: Type.Array(plainText, { minItems: 1 }) }),
      ],
      {
        description,
        'x-secret': true,
        'x-allowed':
          'a text, { env: "NAME" }, { file: "path" } or { command: ["program", "argument"] }',
      },
    ),
  );

/** Marks a section that has the keys of another one, so that the reference lists them once. */
export const sameAs = <S extends TSchema>(name: string, schema: S): S => ({
  ...schema,
  'x-same-as': name,
});

/**
 * When a changed key takes effect: at once in every process that reads it (`process`); at once,
 * through the settings of the agents, which a cluster keeps for all its processes (`agents`); or at
 * the next start.
 */
export type WhenApplied = 'process' | 'agents' | 'restart';

/** Declares it for a schema and all below it that does not declare it again. */
export const applied = <S extends TSchema>(when: WhenApplied, schema: S): S => ({
  ...schema,
  'x-applied': when,
});

export const isSecret = (schema: TSchema): boolean => schema['x-secret'] === true;

/** Whether a secret may be at or below this schema. */
export const holdsSecret = (schema: TSchema): boolean =>
  isSecret(schema) || childSchemas(schema).some(([, child]) => holdsSecret(child));

/** A schema's children: by key, `*` for any other key, `[]` for the elements of a list. */
export function childSchemas(schema: TSchema): [key: string, schema: TSchema][] {
  const children = Object.entries((schema.properties ?? {}) as TProperties);
  const others: unknown[] = [
    schema.additionalProperties,
    ...Object.values((schema.patternProperties ?? {}) as TProperties),
  ];
  for (const other of others) if (typeof other === 'object') children.push(['*', other as TSchema]);
  if (schema.items) children.push(['[]', schema.items as TSchema]);
  return children;
}

/** The schema for one child of a value; undefined for an unknown key. */
export function childSchema(schema: TSchema, key: string): TSchema | undefined {
  const children = new Map(childSchemas(schema));
  return children.get(key) ?? children.get('*') ?? children.get('[]');
}

/** JSON Schema of what may be written: a field that has a default is not required. */
export function inputForm(schema: TSchema): TSchema {
  return relaxed(JSON.parse(JSON.stringify(schema)) as TSchema);
}

function relaxed(schema: TSchema): TSchema {
  const required = ((schema.required ?? []) as string[]).filter(
    (key) => !('default' in ((schema.properties as TProperties)[key] ?? {})),
  );
  if (required.length > 0) schema.required = required;
  else delete schema.required;
  for (const [, child] of childSchemas(schema)) relaxed(child);
  return schema;
}

/** A loaded value: nothing in it can be changed. */
export type Immutable<T> = T extends Secret
  ? T
  : T extends readonly (infer Element)[]
    ? readonly Immutable<Element>[]
    : T extends object
      ? { readonly [Key in keyof T]: Immutable<T[Key]> }
      : T;

export type Loaded<S extends TSchema> = Immutable<Static<S>>;
