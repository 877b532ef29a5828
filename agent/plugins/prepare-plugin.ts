/**
 * Whether a plugin may start, and with what: its settings, secrets and permissions.
 *
 * Boundary: reads nothing; manifest.ts has read the files and the configuration is loaded.
 * Invariant: a plugin receives only the permissions that both its manifest and the configuration
 * have, and only the secrets that its manifest names.
 */
import { describeErrors } from '../../protocols/check.ts';
import { isBuiltInProvider, OFFLINE_PROVIDER } from '../../protocols/models/model-providers.ts';
import type { PluginConfig } from '../../runtime/config/index.ts';
import { schemaCheck } from '../../runtime/index.ts';
import type { FoundPlugin, Manifest, Permission } from './manifest.ts';
import type { PluginOptions } from './plugin.ts';

/** Names that belong to others. */
export type TakenNames = {
  isTool(this: void, name: string): boolean;
  isProvider(this: void, id: string): boolean;
  isChannel(this: void, id: string): boolean;
};

/** @throws Error that says what to correct; TroupeError for a schema that is not one */
export async function prepared(
  found: FoundPlugin,
  entry: PluginConfig,
  taken: TakenNames,
): Promise<Pick<PluginOptions, 'config' | 'secrets' | 'flags' | 'memoryMb'>> {
  const { id, manifest } = found;
  assertNamesFree(manifest, taken);
  const place = `plugins.entries.${id}`;
  const check = await schemaCheck(manifest.configSchema);
  const errors = check(entry.config);
  if (errors.length > 0) throw new Error(`${place}.config: ${describeErrors(errors)}`);
  return {
    config: entry.config,
    secrets: secretsOf(manifest, entry, place),
    flags: flagsOf(manifest, entry, place),
    memoryMb: entry.memoryMb,
  };
}

function assertNamesFree(
  { tools = [], providers = [], channels = [] }: Manifest,
  taken: TakenNames,
): void {
  const tool = tools.find(({ name }) => taken.isTool(name));
  if (tool) throw new Error(`the name of its tool ${tool.name} belongs to another tool`);
  const provider = providers.find(
    ({ id }) => isBuiltInProvider(id) || id === OFFLINE_PROVIDER || taken.isProvider(id),
  );
  const channel = channels.find(({ id }) => taken.isChannel(id));
  if (channel) throw new Error(`the id of its channel ${channel.id} belongs to another channel`);
  if (provider)
    throw new Error(`the id of its provider ${provider.id} belongs to another provider`);
}

function secretsOf(
  { secrets: names = [] }: Manifest,
  { secrets }: PluginConfig,
  place: string,
): Readonly<Record<string, string>> {
  const missing = names.find((name) => secrets[name] === undefined);
  if (missing) throw new Error(`${place}.secrets.${missing} is missing`);
  const more = Object.keys(secrets).find((name) => !names.includes(name));
  if (more) throw new Error(`${place}.secrets.${more} is not a secret that its manifest names`);
  return Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, value.reveal()]));
}

/** Node's flags, by what the running version of Node supports. */
function flagsOf(
  { permissions: asked = [] }: Manifest,
  { permissions }: PluginConfig,
  place: string,
): readonly string[] {
  const granted: Readonly<Record<Permission, readonly string[]>> = {
    read: permissions.read.map((path) => `--allow-fs-read=${path}`),
    write: permissions.write.map((path) => `--allow-fs-write=${path}`),
    childProcesses: permissions.childProcesses ? ['--allow-child-process'] : [],
    workers: permissions.workers ? ['--allow-worker'] : [],
    addons: permissions.addons ? ['--allow-addons'] : [],
  };
  const missing = asked.find((kind) => granted[kind].length === 0);
  if (missing)
    throw new Error(
      `it asks for the permission ${missing}: grant it in ${place}.permissions.${missing}`,
    );
  const wrong = [...permissions.read, ...permissions.write].find((path) => /[*,]/.test(path));
  if (wrong) throw new Error(`${place}.permissions: ${wrong} contains * or a comma`);
  const knows = (flag: string) => process.allowedNodeEnvironmentFlags.has(flag);
  return [
    knows('--permission') ? '--permission' : '--experimental-permission',
    '--disable-warning=ExperimentalWarning',
    // Newer versions of Node restrict the network, too; the older ones cannot.
    ...(knows('--allow-net') ? ['--allow-net'] : []),
    ...asked.flatMap((kind) => granted[kind]),
  ];
}
