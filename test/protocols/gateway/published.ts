/**
 * The oracle: OpenClaw's published protocol document and the validator its own package uses, so
 * that a frame of ours is judged by theirs. The validator is found through that package, as it
 * finds it.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

type Definition = {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
};
type Document = {
  readonly definitions: Readonly<Record<string, Definition>>;
  readonly methods: Readonly<Record<string, { readonly scope: string }>>;
};
type Validator = {
  Check(schema: object, value: unknown): boolean;
  Errors(schema: object, value: unknown): unknown;
};

const here = createRequire(import.meta.url);
const packagePath = here.resolve('@openclaw/gateway-protocol');
export const document = here(join(dirname(packagePath), '../protocol.schema.json')) as Document;

const theirs = createRequire(packagePath).resolve('typebox/schema');
export const validator = (await import(pathToFileURL(theirs).href)) as Validator;

export const definition = (name: string): Definition => {
  const found = document.definitions[name];
  if (found === undefined) throw new Error(`the published document has no definition ${name}`);
  return found;
};

/** What the published schema has against the value; undefined when it accepts it. */
export const publishedComplaint = (name: string, value: unknown): string | undefined =>
  validator.Check(definition(name), value)
    ? undefined
    : `${name}: ${JSON.stringify(validator.Errors(definition(name), value))}`;
