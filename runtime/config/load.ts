/**
 * Loads the configuration: flags override the environment, which overrides the file, which
 * overrides the defaults. The result is checked as a whole.
 *
 * Boundary: reads the file, the given environment, the token file and referenced secrets; writes
 * nothing. Synchronous: it runs once, before anything else.
 *
 * Invariants:
 *  1. the result has passed every check, contains every default, and is immutable;
 *  2. one report contains every problem with its place, and never a secret.
 */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import JSON5 from 'json5';
import { BUILT_IN_PROVIDERS } from '../../protocols/models/model-providers.ts';
import { type Finding, checkShape, misplacedLists, replaceSecrets } from './checks/check.ts';
import { checksFor, findingsOf, type Rule } from './checks/cross-checks.ts';
import { type Document, Layers } from './layers.ts';
import { isObject } from '../../protocols/is-object.ts';
import { type ConfigFlags, layOver } from './overrides.ts';
import { childPointer, isWithin, valueAt } from './pointer.ts';
import { positionsOf } from './positions.ts';
import { ConfigError } from './checks/problems.ts';
import { type AgentConfig, type Config, loadedSchema } from './schema/schema.ts';
import { type SecretContext, type SecretReference, resolveSecret, UnreadSecret } from './secret.ts';
import { repairedValue } from './checks/repair.ts';
import { readToken, tokenFile } from './token.ts';

export type LoadInput = {
  /**
   * the file to read; must exist. Default TROUPE_CONFIG, else `troupe.json5` in the data folder if
   * there
   */
  readonly file?: string;
  /** what a file would contain; no file is read */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly flags?: ConfigFlags;
  /** the user's home folder, for `~` and the default data folder `~/.troupe` */
  readonly home?: string;
  /** of the program that the configuration is for, beside those between its own keys */
  readonly rules?: readonly Rule[];
  /** names of the tools of the program; default: of the one that ran last in the data folder */
  readonly ownTools?: readonly string[];
  /** pointer of the section whose secrets are read, the others being UnreadSecret; default: all */
  readonly secretsWithin?: string;
};

export type LoadedConfig = {
  readonly config: Config;
  /** where each value comes from, by path as a person writes it; what is not here is a default */
  readonly sources: Readonly<Record<string, string>>;
  /** the file that was read, absolute */
  readonly file?: string;
};

/** Name of the file in the data folder that is read when none is named. */
export const configFileName = 'troupe.json5';

/**
 * The whole configuration.
 * @throws ConfigError with every problem found
 */
export function loadConfig(input: LoadInput = {}): LoadedConfig {
  const env = input.env ?? process.env;
  const flags = input.flags ?? {};
  const userHome = input.home ?? homedir();
  const path = (text: string, base = process.cwd()) => resolve(base, expandHome(text, userHome));
  const home = path(flags.data || env.TROUPE_HOME || join(userHome, '.troupe'));
  const document = input.settings
    ? { raw: structuredClone(input.settings) }
    : readDocument(namedFile(input, env, path), home);
  const layers = new Layers(document);
  layOver(layers, env, flags);
  nameApis(layers);
  acceptOtherNames(layers);
  if (valueAt(layers.raw, '/gateway/auth/token') === undefined) {
    layers.set('/gateway/auth/token', readToken(home), `file ${tokenFile(home)}`);
  }
  const base = document.file ? dirname(document.file) : home;
  const { secretsWithin = '' } = input;
  const places = { env, resolvePath: (text: string) => path(text, base), secretsWithin };
  return finish(layers, home, places, [...checksFor(input.ownTools), ...(input.rules ?? [])]);
}

function finish(
  layers: Layers,
  home: string,
  places: SecretContext & { readonly secretsWithin: string },
  rules: readonly Rule[],
): LoadedConfig {
  const misplaced = misplacedLists(loadedSchema, layers.raw);
  const findings: Finding[] = [...layers.findings(), ...misplaced];
  const filled = Value.Default(loadedSchema, layers.raw);
  const misshapen = checkShape(loadedSchema, filled);
  findings.push(
    ...misshapen.filter(
      ({ pointer }) => !misplaced.some((list) => isWithin(pointer, list.pointer)),
    ),
  );
  const resolved = replaceSecrets(loadedSchema, filled, (reference, pointer) => {
    if (findings.some((finding) => isWithin(finding.pointer, pointer))) return undefined;
    if (!isWithin(pointer, places.secretsWithin)) return new UnreadSecret();
    const result = resolveSecret(reference as SecretReference, places);
    if ('secret' in result) return result.secret;
    findings.push({ pointer, message: result.failure });
    return undefined;
  });
  const faulty = new Set(findings.map(({ pointer }) => pointer));
  const repaired = faulty.size === 0 ? resolved : repairedValue(loadedSchema, resolved, faulty);
  const config = withPaths({ ...(repaired as Config), home }, places);
  const found = findingsOf(rules, config);
  // One mistake is reported once.
  findings.push(
    ...found.filter(({ pointer }) => ![...faulty].some((outer) => isWithin(pointer, outer))),
  );
  if (findings.length > 0)
    throw new ConfigError(findings.map((finding) => layers.problem(finding)));
  return {
    config: deepFreeze(config),
    sources: layers.sources(config),
    ...(layers.file && { file: layers.file }),
  };
}

function namedFile(
  { file }: LoadInput,
  env: NonNullable<LoadInput['env']>,
  path: (text: string) => string,
): string | undefined {
  const name = file || env.TROUPE_CONFIG;
  return name ? path(name) : undefined;
}

const unreadable = (code: string, missing: boolean): string => {
  if (missing) return 'there is no such file';
  return code === 'EISDIR'
    ? 'it is a folder. Docker makes one where the file to mount does not exist: remove it, and write the file'
    : `it cannot be read (${code})`;
};

/** @throws ConfigError when a named file cannot be read, or what is there is no JSON5 */
function readDocument(named: string | undefined, home: string): Document {
  const file = named ?? join(home, configFileName);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const missing = ['ENOENT', 'ENOTDIR'].includes(code);
    if (missing && named === undefined) return { raw: {} };
    throw new ConfigError([{ path: '', message: unreadable(code, missing), where: file }]);
  }
  return parse(text, file);
}

function parse(text: string, file: string): Document {
  try {
    return { raw: JSON5.parse(text), file, positions: positionsOf(text) };
  } catch (error) {
    // json5's errors carry where and, in the message, one character of the text: no secret.
    const { lineNumber, columnNumber, message } = error as Error & Partial<SyntaxPlace>;
    const where = lineNumber === undefined ? file : `${file}:${lineNumber}:${columnNumber}`;
    const what = message.replace(/^JSON5: /, '').replace(/ at \d+:\d+$/, '');
    throw new ConfigError([{ path: '', message: `is not valid JSON5: ${what}`, where }]);
  }
}
type SyntaxPlace = { lineNumber: number; columnNumber: number };

/** Pointers of the objects that may have the sections of a tenant. */
function ownersOf({ raw }: Layers): string[] {
  const { tenants } = raw;
  const names = isObject(tenants) ? Object.keys(tenants) : [];
  return ['', ...names.map((tenant) => childPointer('/tenants', tenant))];
}

/** `agents.list` is `agents.agents`, and `name` of an agent is its `identity.name`. */
function acceptOtherNames(layers: Layers): void {
  for (const owner of ownersOf(layers)) {
    layers.move(`${owner}/agents`, 'list', '/agents');
    const agents = `${owner}/agents/agents`;
    const list = valueAt(layers.raw, agents);
    const size = Array.isArray(list) ? list.length : 0;
    for (let index = 0; index < size; index++)
      layers.move(childPointer(agents, index), 'name', '/identity/name');
  }
}

/** Built-in providers need no configured API. */
function nameApis(layers: Layers): void {
  for (const place of ownersOf(layers)) {
    for (const [id, { api }] of Object.entries(BUILT_IN_PROVIDERS)) {
      const provider = childPointer(`${place}/models/providers`, id);
      const written = isObject(valueAt(layers.raw, provider));
      if (written && valueAt(layers.raw, `${provider}/api`) === undefined) {
        layers.set(`${provider}/api`, api, 'known by the name of the provider');
      }
    }
  }
}

type Absolute = <T>(owner: T, ...keys: string[]) => T;

/** Folders and files as absolute paths. */
function withPaths(config: Config, { resolvePath }: SecretContext): Config {
  const absolute: Absolute = (owner, ...keys) => {
    if (!isObject(owner)) return owner;
    const paths = keys.flatMap((key) => {
      const path = owner[key];
      return typeof path === 'string' ? [[key, resolvePath(path)]] : [];
    });
    return { ...owner, ...Object.fromEntries(paths) };
  };
  const { a2a, gateway, nats, plugins, runtime, tenants } = config;
  return {
    ...config,
    ...pathsOfSections(config, absolute),
    ...(isObject(a2a) && {
      a2a: {
        ...absolute(a2a, 'sealingKeyFile', 'signingKeyFile'),
        artifacts: absolute(a2a.artifacts, 'path'),
        issuers: Array.isArray(a2a.issuers)
          ? a2a.issuers.map((entry) => (isUrl(entry?.jwks) ? entry : absolute(entry, 'jwks')))
          : a2a.issuers,
      },
    }),
    ...(isObject(gateway?.tls) && {
      gateway: { ...gateway, tls: absolute(gateway.tls, 'certFile', 'keyFile') },
    }),
    ...(isObject(nats) && {
      nats: {
        ...absolute(nats, 'credentialsFile', 'nkeySeedFile'),
        ...(nats.tls && { tls: absolute(nats.tls, 'caFile', 'certFile', 'keyFile') }),
      },
    }),
    ...(isObject(plugins) && { plugins: pathsOfPlugins(plugins, resolvePath, absolute) }),
    ...(isObject(runtime) && {
      runtime: { ...runtime, workspaces: absolute(runtime.workspaces, 'path') },
    }),
    ...(isObject(tenants) && { tenants: pathsOfTenants(tenants, absolute) }),
  };
}

/** Of the sections that a tenant may have, too. */
function pathsOfSections(
  { agents, hooks, skills, tools }: Partial<Pick<Config, 'agents' | 'hooks' | 'skills' | 'tools'>>,
  absolute: Absolute,
) {
  return {
    ...(isObject(agents) && {
      agents: {
        ...agents,
        defaults: absolute(agents.defaults, 'workspace'),
        agents: Array.isArray(agents.agents)
          ? agents.agents.map((entry: AgentConfig) => absolute(entry, 'workspace'))
          : agents.agents,
      },
    }),
    ...(isObject(hooks) && { hooks: absolute(hooks, 'folder') }),
    ...(isObject(skills) && { skills: absolute(skills, 'folder') }),
    ...(isObject(tools) && {
      tools: { ...tools, browser: absolute(tools.browser, 'executable') },
    }),
  };
}

function pathsOfPlugins(
  plugins: Config['plugins'],
  resolvePath: SecretContext['resolvePath'],
  absolute: Absolute,
): Config['plugins'] {
  const all = (paths: unknown) =>
    Array.isArray(paths) ? paths.map((path: string) => resolvePath(path)) : paths;
  const entries = Object.entries(plugins.entries ?? {}).map(([id, entry]) => {
    const { read, write } = entry?.permissions ?? {};
    const permissions = { ...entry?.permissions, read: all(read), write: all(write) };
    return [id, { ...entry, permissions }] as const;
  });
  return {
    ...absolute(plugins, 'folder'),
    entries: Object.fromEntries(entries),
  } as Config['plugins'];
}

const pathsOfTenants = (tenants: Config['tenants'], absolute: Absolute): Config['tenants'] =>
  Object.fromEntries(
    Object.entries(tenants).map(([name, tenant]) => [
      name,
      {
        ...tenant,
        ...pathsOfSections(tenant, absolute),
        ...(tenant.workspaces && { workspaces: absolute(tenant.workspaces, 'path') }),
      },
    ]),
  );

const isUrl = (value: unknown): boolean => typeof value === 'string' && /^https?:\/\//i.test(value);

function expandHome(path: string, userHome: string): string {
  if (isAbsolute(path)) return path;
  return path === '~' || path.startsWith('~/') ? join(userHome, path.slice(1)) : path;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) deepFreeze(child);
  return Object.freeze(value);
}
