/** Options that commands share, and the configuration and connection that they determine. */
import { defined } from '../protocols/defined.ts';
import type { GatewayClient } from '../client/gateway-client.ts';
import type { OperatorOptions } from '../client/operator-client.ts';
import type { Config, ConfigRule, LoadedConfig } from '../runtime/config/index.ts';
import { version } from './version.ts';

/** As parsed by commander. */
export type CommonOptions = {
  readonly config?: string;
  readonly data?: string;
  readonly port?: string;
  readonly token?: string;
  readonly bind?: string;
  readonly nats?: string;
  readonly name?: string;
  readonly weight?: string;
  readonly json?: boolean;
  /** for commands that also work with an invalid configuration file: no file is read */
  readonly ignoresFile?: true;
};

export type ClientOptions = CommonOptions & {
  /** another gateway, `ws://host:port`, instead of the configured one */
  readonly url?: string;
};

/** For commands that call a gateway for one tenant. */
export type TenantClientOptions = ClientOptions & {
  /** default: the caller's tenant */
  readonly tenant?: string;
};

/**
 * For a command that starts a process of troupe. It has no tools of a program of the user.
 * @throws ConfigError with every problem
 */
export async function loadToStart(options: CommonOptions): Promise<LoadedConfig> {
  return loadToCheck(options, []);
}

/**
 * Checks whether a process would start, by default the program that ran last in the data folder.
 * @throws ConfigError with every problem
 */
export async function loadToCheck(
  options: CommonOptions,
  ownTools?: readonly string[],
): Promise<LoadedConfig> {
  const { startRules } = await import('../installation/start-rules.ts');
  return loadFrom(options, startRules, ownTools);
}

/** @throws ConfigError */
export async function loadFrom(
  options: CommonOptions,
  rules: readonly ConfigRule[] = [],
  ownTools?: readonly string[],
  secretsWithin?: string,
): Promise<LoadedConfig> {
  const { loadConfig } = await import('../runtime/config/index.ts');
  const { config: file, json: _, ignoresFile, ...given } = options;
  const flags = Object.fromEntries(flagNames.map((name) => [name, given[name]]));
  const source = ignoresFile ? { settings: {} } : defined({ file, ownTools });
  const wanted = defined({ secretsWithin });
  return loadConfig({ ...source, ...wanted, env: process.env, flags, rules });
}
const flagNames = ['data', 'port', 'bind', 'token', 'nats', 'name', 'weight'] as const;

/**
 * For a command that only calls the gateway. Secrets of messengers and models are those of the
 * process that runs it, and need not be known in another terminal.
 * @throws ConfigError
 */
export async function loadToConnect(options: CommonOptions): Promise<LoadedConfig> {
  return loadFrom(options, [], undefined, '/gateway/auth');
}

/** For commands that show the configuration of one tenant. */
export type TenantOptions = CommonOptions & { readonly tenant?: string };

/**
 * The configuration of a tenant, or of the installation.
 * @throws ConfigError; TroupeError NOT_FOUND for a tenant that is not configured
 */
export async function loadForTenant({
  tenant,
  ...options
}: TenantOptions): Promise<{ readonly config: Config; readonly installation: Config }> {
  const { config: installation } = await loadFrom(options);
  if (tenant === undefined || tenant === 'default') return { config: installation, installation };
  const [{ tenantConfig }, { TroupeError }] = await Promise.all([
    import('../runtime/config/index.ts'),
    import('../protocols/errors.ts'),
  ]);
  const { tenants } = installation;
  if (!Object.hasOwn(tenants, tenant)) {
    const names = ['default', ...Object.keys(tenants)].join(', ');
    throw new TroupeError('NOT_FOUND', `no tenant ${tenant} is configured; available: ${names}`);
  }
  return { config: tenantConfig(installation, tenant), installation };
}

/**
 * `http://host:port` or `https://host:port` of the gateway of this data folder, for clients on this
 * machine: where it runs, or where it would listen. A port in the options or in `TROUPE_PORT` is
 * used as it is.
 */
export async function originOf(config: Config, { port }: CommonOptions = {}): Promise<string> {
  const isGiven = port !== undefined || process.env['TROUPE_PORT'] !== undefined;
  const running = isGiven
    ? undefined
    : (await import('../installation/running-gateway.ts')).runningGateway(config.home);
  return running === undefined ? configuredOrigin(config) : new URL(running.url).origin;
}

/** Where the configuration says that the gateway listens, in the form of `originOf`. */
export async function configuredOrigin(config: Config): Promise<string> {
  return (await import('../runtime/config/index.ts')).gatewayOrigin(config);
}

/**
 * The address and secret of the gateway that the options name. The secrets of this installation are
 * sent only to its own gateway. Another gateway (`--url`) receives only a token that was passed for
 * it (`--token`, `TROUPE_TOKEN`).
 */
export async function gatewayOf(options: ClientOptions): Promise<OperatorOptions> {
  return reach((await loadToConnect(options)).config, options);
}

async function reach(config: Config, options: ClientOptions): Promise<OperatorOptions> {
  const { mode, token, password } = config.gateway.auth;
  const own = (await originOf(config, options)).replace(/^http/, 'ws');
  const { url = own } = options;
  if (url.replace(/\/$/, '') !== own) {
    const given = options.token ?? process.env['TROUPE_TOKEN'];
    return { url, ...defined({ token: given }), client: { version } };
  }
  // Behind a proxy both are accepted from the gateway's own machine.
  const shows = (what: 'token' | 'password') => mode === what || mode === 'trusted-proxy';
  return {
    url,
    ...(shows('token') && token && { token: token.reveal() }),
    ...(shows('password') && password && { password: password.reveal() }),
    client: { version },
  };
}

/**
 * A connection after its handshake, as a device of this data folder if the gateway requires one.
 * @throws TroupeError as connectOperator does
 */
export async function connect(options: ClientOptions): Promise<GatewayClient> {
  const [{ config }, { connectAsRequired }] = await Promise.all([
    loadToConnect(options),
    import('./client/connect-as-required.ts'),
  ]);
  return connectAsRequired(await reach(config, options), config.home);
}

/** Calls `use` with a connection and always closes it. */
export async function withGateway<T>(
  options: ClientOptions,
  use: (client: GatewayClient) => Promise<T>,
): Promise<T> {
  const client = await connect(options);
  try {
    return await use(client);
  } finally {
    client.close();
  }
}
