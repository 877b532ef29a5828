/** `troupe mcp add`, `list`, `tools` and `remove`: MCP servers whose tools agents have. */
import { growingMask } from '../../agent/tools/growing-mask.ts';
import { knownSecrets } from '../../installation/known-secrets.ts';
import { mcpServersOf } from '../../installation/mcp-servers.ts';
import { ConfigFile } from '../../installation/setup/config-file.ts';
import { table } from '../../operations/text.ts';
import { DEFAULT_TENANT } from '../../protocols/address.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { LeftOut } from '../../protocols/mcp-server.ts';
import type { Config, McpServerConfig } from '../../runtime/config/index.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadForTenant, loadFrom, type TenantOptions } from '../options.ts';
import { formerFile, printJson } from '../output.ts';
import {
  asksForLogin,
  endLogins,
  type ListedLogin,
  listedLogin,
  loginText,
  revokedText,
} from './login-state.ts';

/** As parsed by commander. */
export type AddOptions = CommonOptions & {
  readonly env?: readonly string[];
  readonly header?: readonly string[];
  readonly headerEnv?: readonly string[];
  readonly cwd?: string;
  readonly sandbox: boolean;
  readonly allowPrivate?: boolean;
  readonly approval?: string;
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
};

/** What a server answered, or why it did not. */
type Looked = {
  readonly name: string;
  readonly enabled: boolean;
  /** names of the tools that agents have */
  readonly tools: readonly string[];
  readonly leftOut: readonly LeftOut[];
  /** of the protocol */
  readonly revision?: string;
  readonly login: ListedLogin;
  readonly problem?: string;
};

/** @throws TroupeError INVALID_ARGUMENT, CONFLICT when the name is taken */
export async function add(
  name: string,
  target: readonly string[],
  options: AddOptions,
): Promise<number> {
  const { config, file } = await loadFrom(common(options));
  const entry = entryOf(target, options);
  const to = new ConfigFile({ file, home: config.home });
  const { backup } = await to.merge({ mcp: { servers: { [name]: entry } } }, () => {
    if (Object.hasOwn(config.mcp.servers, name))
      throw new TroupeError('CONFLICT', `there is a server ${name}: troupe mcp remove ${name}`);
  });
  const added = await loadFrom(common(options));
  const needsLogin = await asksForLogin(added.config, name);
  const next = needsLogin
    ? `It needs a login. Next: troupe mcp login ${name}`
    : `Next: troupe mcp tools ${name} connects to it and prints its tools.`;
  if (options.json) printJson({ name, file: to.path, backup, needsLogin });
  else
    process.stdout.write(
      `${name} is added. This applies at the next start.\n${next}${formerFile(backup)}\n`,
    );
  return exitCodes.ok;
}

/** @throws TroupeError NOT_FOUND */
export async function remove(name: string, options: CommonOptions): Promise<number> {
  const { config, file } = await loadFrom(options);
  known(config, name);
  const to = new ConfigFile({ file, home: config.home });
  const { backup } = await to.merge({ mcp: { servers: { [name]: null } } });
  const logins = await endLogins(name, config, (await loadFrom(options)).config);
  const about = logins.map(
    ({ tenant, revoked }) =>
      `Its login${tenant === DEFAULT_TENANT ? '' : ` of the tenant ${tenant}`} is removed. ${revokedText(revoked)}\n`,
  );
  if (options.json) printJson({ name, file: to.path, backup, logins });
  else
    process.stdout.write(
      `${name} is removed. This applies at the next start.${formerFile(backup)}\n${about.join('')}`,
    );
  return exitCodes.ok;
}

/** Connects to each enabled server. Exit code 1 when one cannot be reached. */
export async function list(options: TenantOptions): Promise<number> {
  const { config } = await loadForTenant(options);
  const rows = await lookAt(config, Object.keys(config.mcp.servers), options.tenant);
  if (options.json) printJson({ servers: rows });
  else if (rows.length === 0)
    process.stdout.write('no MCP servers; troupe mcp add NAME -- COMMAND, or NAME URL\n');
  else {
    const cells = rows.map((row) => {
      const place = placeOf(config.mcp.servers[row.name]!);
      return [row.name, place, loginText(row.login), said(row)];
    });
    process.stdout.write(table(['server', 'place', 'login', 'result'], cells));
  }
  return rows.some(({ problem }) => problem !== undefined) ? exitCodes.failure : exitCodes.ok;
}

/** Connects to one server. @throws TroupeError NOT_FOUND, UNAVAILABLE */
export async function tools(name: string, options: TenantOptions): Promise<number> {
  const { config } = await loadForTenant(options);
  known(config, name);
  const [row] = await lookAt(config, [name], options.tenant);
  const { problem, leftOut = [], tools: names = [] } = row ?? {};
  if (problem !== undefined) throw new TroupeError('UNAVAILABLE', problem);
  if (options.json) printJson(row);
  else {
    const missing = leftOut.map((one) => `left out: ${one.name}: ${one.why}`);
    process.stdout.write([...names, ...missing, ''].join('\n'));
  }
  return exitCodes.ok;
}

/** The servers after an attempt to read their lists; those that are not enabled are not reached. */
export async function lookAt(
  config: Config,
  names: readonly string[],
  tenant = DEFAULT_TENANT,
): Promise<readonly Looked[]> {
  const secrets = growingMask(knownSecrets(config, process.env));
  const servers = mcpServersOf(config, { tenant, secrets });
  try {
    return await Promise.all(
      names.map(async (name): Promise<Looked> => {
        const session = servers.login(name);
        const nothing = { name, enabled: true, tools: [], leftOut: [], login: 'none' as const };
        if (!config.mcp.servers[name]?.enabled) return { ...nothing, enabled: false };
        try {
          const { tools: listed, leftOut } = await servers.list(name);
          const { revision } = servers.states()[name] ?? {};
          const login = listedLogin(await session?.state());
          const found = { ...nothing, tools: listed.map((tool) => tool.name), leftOut, login };
          return { ...found, ...(revision !== undefined && { revision }) };
        } catch (error) {
          const login = listedLogin(await session?.state(), error);
          return { ...nothing, login, problem: errorData(error).message };
        }
      }),
    );
  } finally {
    await servers.close();
  }
}

const said = ({ enabled, problem, tools: names, leftOut, revision }: Looked): string => {
  if (!enabled) return 'not enabled';
  if (problem !== undefined) return problem;
  const left = leftOut.length > 0 ? `, ${leftOut.length} left out` : '';
  return `${names.length} tools${left} (${revision})`;
};

const placeOf = ({ url, command, sandbox }: McpServerConfig): string =>
  url ?? `${command}${sandbox ? ' (sandbox)' : ''}`;

/** @throws TroupeError NOT_FOUND */
export function known({ mcp }: Config, name: string): void {
  if (Object.hasOwn(mcp.servers, name)) return;
  const names = Object.keys(mcp.servers).join(', ') || 'none';
  throw new TroupeError('NOT_FOUND', `no MCP server ${name} is configured; configured: ${names}`);
}

const common = ({ config, data, port, token, json }: AddOptions): CommonOptions => ({
  ...(config !== undefined && { config }),
  ...(data !== undefined && { data }),
  ...(port !== undefined && { port }),
  ...(token !== undefined && { token }),
  ...(json !== undefined && { json }),
});

/** The entry of the configuration, with what differs from the defaults. */
function entryOf(target: readonly string[], options: AddOptions): Record<string, unknown> {
  const { env = [], header = [], headerEnv = [], cwd, sandbox, allowPrivate } = options;
  const { approval, allow, deny } = options;
  const [first = '', ...args] = target;
  const isUrl = /^https?:\/\//i.test(first) && args.length === 0;
  if (args.length === 0 && /^[\w.-]+:\d+(\/|$)/.test(first))
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${first} is no program: the URL of a server begins with http:// or https://, as http://${first}`,
    );
  if (!isUrl && /^[a-z][a-z0-9+.-]*:\/\//i.test(first))
    throw new TroupeError(
      'INVALID_ARGUMENT',
      args.length > 0 && /^https?:/i.test(first)
        ? `a URL has no arguments: ${args.join(' ').slice(0, 100)}`
        : `${JSON.stringify(first.slice(0, 200))} is no program: URLs of servers begin with http:// or https://`,
    );
  const headers = { ...pairs(header), ...references(headerEnv) };
  return {
    ...(isUrl ? { url: first } : { command: first, ...(args.length > 0 && { args }) }),
    ...(env.length > 0 && { env: pairs(env) }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(cwd !== undefined && { cwd }),
    ...(!sandbox && { sandbox }),
    ...(allowPrivate && { allowPrivate }),
    ...(approval !== undefined && { approval }),
    ...((allow ?? deny) && { tools: { ...(allow && { allow }), ...(deny && { deny }) } }),
  };
}

/** `NAME=VALUE`, or `NAME` for a reference to an environment variable of this name. */
const pairs = (given: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    given.map((pair) => {
      const at = pair.indexOf('=');
      return at < 0 ? [pair, { env: pair }] : [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );

/** `NAME=VARIABLE` */
const references = (given: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    given.map((pair) => {
      const at = pair.indexOf('=');
      if (at > 0) return [pair.slice(0, at), { env: pair.slice(at + 1) }];
      throw new TroupeError('INVALID_ARGUMENT', `${pair} is not NAME=VARIABLE`);
    }),
  );
