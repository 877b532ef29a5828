/**
 * The manifest of a plugin, `troupe.plugin.json`, and how the plugins of a folder are found.
 *
 * Boundary: reads two JSON files per plugin and runs no code of it. What the code defines is
 * compared with the manifest when its process starts (plugin.ts).
 *
 * Invariant: names of tools, providers and channels begin with the id of their plugin. So two
 * plugins never collide, and a list of tools in the configuration can be checked without starting a
 * plugin.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import {
  type CheckAnswer,
  checker,
  describeErrors,
  SemanticVersion,
} from '../../protocols/check.ts';
import { CHANNEL_NAME } from '../../protocols/channel.ts';
import { errorData } from '../../protocols/errors.ts';
import { HOOKS, type HookName } from '../hooks/hooks.ts';

export const MANIFEST = 'troupe.plugin.json';

/** What a plugin may ask for; the configuration grants it. */
export const PERMISSIONS = ['read', 'write', 'childProcesses', 'workers', 'addons'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** The largest manifest, bytes. */
const MANIFEST_BYTES_MAX = 262_144;

const only = { additionalProperties: false };
const oneOf = <const Word extends string>(words: readonly Word[]) =>
  Type.Unsafe<Word>(Type.Union(words.map((word) => Type.Literal(word))));
const name = Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' });
const secretNames = Type.Array(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_]{0,62}$' }), {
  maxItems: 50,
});
const JsonSchema = Type.Unsafe<Record<string, unknown>>({ type: 'object' });
const tokens = Type.Integer({ minimum: 1, maximum: 100_000_000 });
const price = Type.Number({ minimum: 0 });

const ToolDeclaration = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
    description: Type.String({ minLength: 1, maxLength: 4_096 }),
    parameters: JsonSchema,
    returns: Type.Optional(JsonSchema),
    class: Type.Optional(oneOf(['repeatable', 'keyed', 'once'])),
    parallel: Type.Optional(Type.Boolean()),
    timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 3_600 })),
  },
  only,
);

const ProviderDeclaration = Type.Object(
  {
    id: name,
    models: Type.Array(
      Type.Object(
        {
          id: Type.String({ minLength: 1, maxLength: 200 }),
          contextWindow: Type.Optional(tokens),
          maxTokens: Type.Optional(tokens),
          images: Type.Optional(Type.Boolean()),
          thinking: Type.Optional(Type.Boolean()),
          price: Type.Optional(Type.Object({ input: price, output: price }, only)),
        },
        only,
      ),
      { minItems: 1, maxItems: 200 },
    ),
  },
  only,
);

const ms = (maximum: number) => Type.Integer({ minimum: 0, maximum });

/** As `Abilities` of channels/messengers/adapter.ts, with defaults. */
const ChannelDeclaration = Type.Object(
  {
    id: Type.String({ pattern: CHANNEL_NAME }),
    /** JSON Schema of `config` of an account */
    accountSchema: Type.Optional(JsonSchema),
    /** names of the secrets of an account */
    accountSecrets: Type.Optional(secretNames),
    dialect: Type.Optional(
      oneOf(['telegram-html', 'slack-mrkdwn', 'discord', 'whatsapp', 'plain']),
    ),
    charactersMax: Type.Integer({ minimum: 100, maximum: 1_000_000 }),
    edit: Type.Optional(Type.Boolean()),
    typingEveryMs: Type.Optional(Type.Integer({ minimum: 1_000, maximum: 600_000 })),
    threads: Type.Optional(Type.Boolean()),
    idempotentSendMs: Type.Optional(ms(86_400_000)),
    reconcile: Type.Optional(Type.Boolean()),
    /** of one received file, and of one sent file */
    mediaBytesMax: Type.Optional(Type.Integer({ minimum: 1, maximum: 8 * 1_048_576 })),
    fileBytesMax: Type.Optional(Type.Integer({ minimum: 1, maximum: 8 * 1_048_576 })),
    pace: Type.Optional(Type.Object({ ofChatMs: ms(600_000), ofAccountMs: ms(600_000) }, only)),
  },
  only,
);

const Manifest = Type.Object(
  {
    id: name,
    description: Type.Optional(Type.String({ maxLength: 1_024 })),
    configSchema: JsonSchema,
    secrets: Type.Optional(secretNames),
    permissions: Type.Optional(Type.Array(oneOf(PERMISSIONS), { maxItems: PERMISSIONS.length })),
    tools: Type.Optional(Type.Array(ToolDeclaration, { maxItems: 100 })),
    hooks: Type.Optional(Type.Array(oneOf(Object.keys(HOOKS) as HookName[]), { maxItems: 50 })),
    priority: Type.Optional(Type.Number()),
    providers: Type.Optional(Type.Array(ProviderDeclaration, { maxItems: 20 })),
    channels: Type.Optional(Type.Array(ChannelDeclaration, { maxItems: 20 })),
  },
  only,
);

export type Manifest = Static<typeof Manifest>;
export type ToolDeclaration = Static<typeof ToolDeclaration>;
export type ProviderDeclaration = Static<typeof ProviderDeclaration>;
export type ChannelDeclaration = Static<typeof ChannelDeclaration>;

const checkManifest = checker(Manifest);
const checkPackage = checker(Type.Object({ name: Type.String(), version: SemanticVersion }));

/** A plugin of the folder. */
export type FoundPlugin = {
  readonly id: string;
  readonly folder: string;
  readonly version: string;
  readonly manifest: Manifest;
  /** the file with its code */
  readonly file: string;
};

/** A folder that is not a plugin, and why. `id`: the folder's name. */
export type PluginFault = { readonly id: string; readonly folder: string; readonly why: string };

/**
 * The plugins of a folder in the order of their names; none if the folder is missing.
 * @throws Error when the folder exists and cannot be read
 */
export function readPlugins(folder: string): readonly (FoundPlugin | PluginFault)[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((entry) => !entry.startsWith('.') && mayBePlugin(join(folder, entry)))
    .sort()
    .map((id) => readPlugin(id, join(folder, id)));
}

/** A link that leads nowhere is a plugin that was moved, and is reported as a fault. */
function mayBePlugin(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return true;
  }
}

/** One plugin. Never throws because of a file's content. */
export function readPlugin(id: string, folder: string): FoundPlugin | PluginFault {
  try {
    if (!existsSync(folder)) throw new Error(`${folder} is missing`);
    const manifest = read(join(folder, MANIFEST), MANIFEST, checkManifest);
    if (manifest.id !== id) throw new Error(`its id is ${manifest.id}, but its folder is ${id}`);
    assertConsistent(manifest);
    const { version } = read(join(folder, 'package.json'), 'package.json', checkPackage);
    const file = ['src/index.ts', 'src/index.js', 'src/index.mjs']
      .map((path) => join(folder, path))
      .find((path) => existsSync(path));
    if (file === undefined) throw new Error('src/index.ts is missing');
    return { id, folder, version, manifest, file };
  } catch (error) {
    return { id, folder, why: errorData(error).message };
  }
}

function read<T>(path: string, what: string, check: (json: unknown) => CheckAnswer<T>): T {
  if (!existsSync(path)) throw new Error(`${what} is missing`);
  if (statSync(path).size > MANIFEST_BYTES_MAX)
    throw new Error(`${what} has more than ${MANIFEST_BYTES_MAX} bytes`);
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${what} is not JSON: ${errorData(error).message}`, { cause: error });
  }
  const answer = check(json);
  if (!answer.ok) throw new Error(`${what}: ${describeErrors(answer.errors)}`);
  return answer.value;
}

/** @throws Error that describes the fault */
function assertConsistent(manifest: Manifest): void {
  const { id, tools = [], hooks = [], providers = [], channels = [] } = manifest;
  const lists = [
    tools.map((tool) => tool.name),
    providers.map((provider) => provider.id),
    channels.map((channel) => channel.id),
  ];
  for (const one of lists.flat())
    if (one !== id && !one.startsWith(`${id}_`))
      throw new Error(`the name ${one} has to be ${id} or begin with ${id}_`);
  for (const list of [...lists, hooks])
    if (new Set(list).size < list.length)
      throw new Error(`it declares a name twice: ${list.join(', ')}`);
  if (hooks.includes('tool_result_persist'))
    throw new Error(
      'tool_result_persist is synchronous, and a plugin runs in another process: use a hook file',
    );
}

export const isFault = (one: FoundPlugin | PluginFault): one is PluginFault => 'why' in one;
