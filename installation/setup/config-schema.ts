/**
 * The schema of the configuration, from which clients generate forms: `config.schema`,
 * `config.schema.lookup`.
 */
import type { TSchema } from '@sinclair/typebox';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type {
  ConfigHint,
  ConfigSchemaLookup,
  ConfigSchemaResponse,
} from '../../protocols/gateway/index.ts';
import { childSchema, childSchemas, isSecret } from '../../runtime/config/schema/fields.ts';
import { configSchema, pointerOf, whenApplied } from '../../runtime/config/index.ts';

export const schemaForPeople = (): Pick<ConfigSchemaResponse, 'schema' | 'uiHints'> => {
  const uiHints: Record<string, ConfigHint> = {};
  const note = (schema: TSchema, path: string): void => {
    if (path !== '') uiHints[path] = hintOf(schema, path);
    for (const [key, child] of childSchemas(schema)) {
      note(child, key === '[]' ? `${path}[]` : path === '' ? key : `${path}.${key}`);
    }
  };
  note(configSchema, '');
  return { schema: configSchema, uiHints };
};

/** @throws TroupeError NOT_FOUND */
export const lookup = (path: string): ConfigSchemaLookup => {
  const keys = path
    .replaceAll(/\[(\d*|\*)\]/g, '.[]')
    .split('.')
    .filter((key) => key !== '');
  let schema: TSchema | undefined = configSchema;
  for (const key of keys) schema = schema && childSchema(schema, key);
  if (schema === undefined) {
    throw new TroupeError(
      'NOT_FOUND',
      `there is no ${path.slice(0, 200)} in the configuration; config.schema has all keys`,
    );
  }
  const required = new Set((schema.required ?? []) as string[]);
  return {
    path,
    schema: shallow(schema),
    reloadKind: reloadOf(path),
    hint: hintOf(schema, path),
    hintPath: path,
    children: childSchemas(schema).map(([key, child]) => {
      const at = key === '[]' ? `${path}[]` : `${path}.${key}`;
      return {
        key,
        path: at,
        ...(typeof child.type === 'string' ? { type: child.type } : {}),
        required: required.has(key),
        hasChildren: childSchemas(child).length > 0,
        reloadKind: reloadOf(at),
        hint: hintOf(child, at),
        hintPath: at,
      };
    }),
  };
};

const reloadOf = (path: string): 'hot' | 'restart' =>
  whenApplied(pointerOf(path.replaceAll('[]', '[0]'))) === 'restart' ? 'restart' : 'hot';

const hintOf = (schema: TSchema, path: string): ConfigHint => ({
  label: path.split('.').at(-1) ?? path,
  ...defined({ help: schema.description }),
  ...(isSecret(schema) ? { sensitive: true } : {}),
});

/** Without the nested settings, which `children` lists. */
const shallow = ({ properties: _, patternProperties: __, items: ___, ...rest }: TSchema) => rest;
