/**
 * `config.*`: the configuration file of the process behind the gateway. Responses contain
 * CONFIG_REDACTED in place of each secret; a request with CONFIG_REDACTED keeps the stored value.
 */
import { type Static, Type } from '@sinclair/typebox';
import { AnyKey } from '../any-key.ts';
import type { MethodArea } from './method.ts';
import { AnyObject, NonEmpty, Nullable, oneOf, Optional, Text } from './shapes.ts';

/** The same text as in OpenClaw. */
export const CONFIG_REDACTED = '__OPENCLAW_REDACTED__';

/**
 * `hash` identifies the text of the file and is the `baseHash` of the next change; null: there is
 * no file.
 */
export const ConfigSnapshot = Type.Object({
  path: NonEmpty,
  exists: Type.Boolean(),
  /** text of the file, without secrets */
  raw: Nullable(Text),
  /** contents of the file */
  parsed: AnyObject,
  sourceConfig: AnyObject,
  resolved: AnyObject,
  valid: Type.Boolean(),
  /** with every default: the configuration after the next start */
  config: AnyObject,
  /** the configuration with which the process started */
  runtimeConfig: AnyObject,
  hash: Nullable(NonEmpty),
  issues: Type.Array(Type.Object({ path: Text, message: Text })),
  warnings: Type.Array(Type.Object({ path: Text, message: Text })),
  legacyIssues: Type.Array(AnyObject),
});
export type ConfigSnapshot = Static<typeof ConfigSnapshot>;

/** `raw`: JSON5. `baseHash` is mandatory if the file exists. */
const ConfigWrite = { raw: NonEmpty, baseHash: Optional(Text) };
export const ConfigSetParams = Type.Object(ConfigWrite);
export type ConfigSetParams = Static<typeof ConfigSetParams>;

/**
 * A JSON merge patch (RFC 7396). Lists whose entries have an `id` are merged by it, except those in
 * `replacePaths`, which are replaced.
 */
export const ConfigPatchParams = Type.Object({
  ...ConfigWrite,
  replacePaths: Optional(Type.Array(NonEmpty)),
});
export type ConfigPatchParams = Static<typeof ConfigPatchParams>;

/** `applied`: paths that are in effect; `restart`: those that take effect at the next start. */
export const ConfigWritten = Type.Object({
  ok: Type.Literal(true),
  noop: Optional(Type.Boolean()),
  path: NonEmpty,
  hash: Nullable(NonEmpty),
  config: AnyObject,
  backup: Optional(NonEmpty),
  applied: Type.Array(NonEmpty),
  restart: Type.Object({ required: Type.Boolean(), paths: Type.Array(NonEmpty) }),
});
export type ConfigWritten = Static<typeof ConfigWritten>;

const RELOAD = oneOf(['restart', 'hot', 'none']);
const Hint = Type.Object({
  label: Optional(Text),
  help: Optional(Text),
  sensitive: Optional(Type.Boolean()),
  advanced: Optional(Type.Boolean()),
});
export type ConfigHint = Static<typeof Hint>;

export const ConfigSchemaLookup = Type.Object({
  path: NonEmpty,
  schema: Type.Unknown(),
  reloadKind: RELOAD,
  hint: Optional(Hint),
  hintPath: Optional(Text),
  children: Type.Array(
    Type.Object({
      key: NonEmpty,
      path: NonEmpty,
      type: Optional(Type.Union([Text, Type.Array(Text)])),
      required: Type.Boolean(),
      hasChildren: Type.Boolean(),
      reloadKind: RELOAD,
      hint: Optional(Hint),
      hintPath: Optional(Text),
    }),
  ),
});
export type ConfigSchemaLookup = Static<typeof ConfigSchemaLookup>;

export const ConfigSchemaResponse = Type.Object({
  schema: Type.Unknown(),
  uiHints: Type.Record(AnyKey, Hint),
  version: NonEmpty,
  generatedAt: NonEmpty,
});
export type ConfigSchemaResponse = Static<typeof ConfigSchemaResponse>;

export const configMethods = {
  'config.get': { params: AnyObject, result: ConfigSnapshot, scope: 'operator.read' },
  'config.set': { params: ConfigSetParams, result: ConfigWritten, scope: 'operator.admin' },
  'config.patch': { params: ConfigPatchParams, result: ConfigWritten, scope: 'operator.admin' },
  'config.apply': { params: ConfigSetParams, result: ConfigWritten, scope: 'operator.admin' },
  'config.schema': { params: AnyObject, result: ConfigSchemaResponse, scope: 'operator.read' },
  'config.schema.lookup': {
    params: Type.Object({ path: NonEmpty }),
    result: ConfigSchemaLookup,
    scope: 'operator.read',
  },
} as const satisfies MethodArea;
