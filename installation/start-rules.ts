/**
 * Rules beyond the schema that a configuration must satisfy at the start: known models and tools of
 * plugins, and command patterns that can match something. `config check`, `start`, a change through
 * the gateway and an embedder's `startTroupe` all apply these rules.
 */
import { createModelCatalog, type ModelCatalog } from '../agent/models/catalog.ts';
import { patternFault, patternWarning } from '../agent/policy/exec-patterns.ts';
import { errorData } from '../protocols/errors.ts';
import {
  type AgentConfig,
  admitsMany,
  type Config,
  ConfigError,
  type ConfigFinding,
  type ConfigRule,
  findingsOf,
  ownSections,
  type Problem,
  showPointer,
} from '../runtime/config/index.ts';
import { systemClock } from '../runtime/index.ts';
import { isPluginProvider, knownChannels, knownPluginTools } from './plugin-rules.ts';

/** For `loadConfig`. */
export const startRules: readonly ConfigRule[] = [
  knownModels,
  knownPluginTools,
  knownChannels,
  matchingPatterns,
];

/** @throws ConfigError with every problem, for a configuration that was not loaded from a file */
export function assertStartable(config: Config): void {
  const findings = findingsOf(startRules, config);
  if (findings.length === 0) return;
  throw new ConfigError(
    findings.map(({ pointer, ...rest }) => ({ path: showPointer(pointer), ...rest })),
  );
}

type Place = readonly [pointer: string, agent: Partial<AgentConfig>];

const placesOf = ({ agents: { defaults, agents } }: Config): readonly Place[] => [
  ['/agents/defaults', defaults],
  ...agents.map((agent, index): Place => [`/agents/agents/${index}`, agent]),
];

/** Every model that an agent names, fallbacks included. */
export function knownModels(config: Config, tenant?: string): ConfigFinding[] {
  const made = catalogOf(config, tenant);
  if ('finding' in made) return [made.finding];
  const names = placesOf(config).flatMap(([pointer, { model, fallbacks = [] }]) => [
    ...(model === undefined ? [] : [[`${pointer}/model`, model] as const]),
    ...fallbacks.map((name, index) => [`${pointer}/fallbacks/${index}`, name] as const),
  ]);
  // A tenant with providers of its own cannot use those of plugins.
  const hasOwn = tenant !== undefined && ownSections(config, tenant).includes('models');
  const isOfPlugin = hasOwn ? () => false : isPluginProvider(config);
  return names.flatMap(([pointer, name]) => {
    const [, provider] = /^([^/]+)\//.exec(name) ?? [];
    if (provider !== undefined && isOfPlugin(provider)) return [];
    const message = problemOf(made.catalog, name);
    return message === undefined ? [] : [{ pointer, value: JSON.stringify(name), message }];
  });
}

/**
 * Keys in the environment belong to the installation: a tenant's own providers do not receive them.
 */
export const keysFromEnvironment = (config: Config, tenant = 'default'): NodeJS.ProcessEnv =>
  ownSections(config, tenant).includes('models') ? {} : process.env;

/** Creating the catalog finds keys and headers that are invalid in HTTP. */
const catalogOf = (
  config: Config,
  tenant?: string,
): { readonly catalog: ModelCatalog } | { readonly finding: ConfigFinding } => {
  try {
    const env = keysFromEnvironment(config, tenant);
    return { catalog: createModelCatalog(config.models, { env, clock: systemClock }) };
  } catch (error) {
    return { finding: { pointer: '/models/providers', message: errorData(error).message } };
  }
};

const problemOf = (catalog: ModelCatalog, name: string): string | undefined => {
  try {
    catalog.resolve(name);
    return undefined;
  } catch (error) {
    return errorData(error).message;
  }
};

/** Patterns that match nothing. */
export function matchingPatterns(config: Config): ConfigFinding[] {
  return patternsOf(config).flatMap(({ pattern, ...place }) => {
    const fault = patternFault(pattern);
    return fault === undefined ? [] : [{ ...place, message: `matches nothing: ${fault}` }];
  });
}

/** Patterns that allow more than their author may expect. They are valid: a start accepts them. */
export function broadPatterns(config: Config): ConfigFinding[] {
  return patternsOf(config).flatMap(({ pattern, ...place }) => {
    const message = patternWarning(pattern);
    return message === undefined ? [] : [{ ...place, message }];
  });
}

/** Conversations of several people that are one session. */
export function sharedMainSession({ session, channels }: Config): ConfigFinding[] {
  if (session.dmScope !== 'main') return [];
  const accounts = Object.entries(channels).flatMap(([channel, of]) =>
    Object.entries(of?.accounts ?? {}).map(
      ([name, policy]) => [`${channel}:${name}`, policy] as const,
    ),
  );
  const open = accounts.filter(([, policy]) => admitsMany(policy)).map(([name]) => name);
  if (open.length === 0) return [];
  const message =
    `everyone who may write to ${open.join(', ')} shares the main session of the agent: each can read ` +
    'and change the conversation of the others. If that is more than you, set "per-channel-peer"';
  return [{ pointer: '/session/dmScope', value: '"main"', message }];
}

/** Warnings about a valid configuration, tenants included. */
export const warningsOf = (config: Config): readonly Problem[] =>
  findingsOf([broadPatterns, sharedMainSession], config).map(({ pointer, ...rest }) => ({
    path: showPointer(pointer),
    ...rest,
  }));

function patternsOf(config: Config) {
  const lists = [
    ['/tools/exec/allow', config.tools.exec.allow] as const,
    ...placesOf(config).map(
      ([pointer, { tools }]) => [`${pointer}/tools/exec/allow`, tools?.exec?.allow ?? []] as const,
    ),
  ];
  return lists.flatMap(([pointer, patterns]) =>
    patterns.map((pattern, index) => ({
      pattern,
      pointer: `${pointer}/${index}`,
      value: JSON.stringify(pattern),
    })),
  );
}
