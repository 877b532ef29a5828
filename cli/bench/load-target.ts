/**
 * What a load test loads: an installation of its own, the running one of this data folder, or
 * another gateway. The user's installation is loaded only if an option says so.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { connectOperator } from '../../client/operator-client.ts';
import type { LoadReport } from '../../loadtest/report.ts';
import { Target, type TargetOptions } from '../../loadtest/target.ts';
import { WORKLOADS } from '../../loadtest/workloads/index.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { defined } from '../../protocols/defined.ts';
import { isLoopback } from '../../channels/gateway/auth/access.ts';
import { connect, gatewayOf, loadFrom } from '../options.ts';
import { version } from '../version.ts';
import { modelSettings } from './model.ts';
import { type InstallationSettings, startOwnInstallation } from './own-installation.ts';
import { connectionsOf, type RunOptions } from './run-options.ts';

export type LoadTarget = {
  readonly target: Target;
  readonly about: LoadReport['target'];
  readonly isShared: boolean;
  /** Closes the connections, and stops what was started. May be repeated. */
  readonly close: () => Promise<void>;
};

/** Writes a line for the user. */
type Note = (line: string) => void;

const TOKEN_TTL_SEC = 86_400;

/**
 * @param settings of an own installation
 * @throws TroupeError as `connect`; CONFLICT when real models may be called and cost is not allowed
 */
export async function openLoadTarget(
  options: RunOptions,
  mix: readonly string[],
  settings: InstallationSettings,
  note: Note,
  signal: AbortSignal,
): Promise<LoadTarget> {
  if (options.url !== undefined || options.running === true)
    return openExisting(options, mix, note);
  await noteRunning(options, note);
  note('starting an installation for this test');
  const own = await startOwnInstallation(settings, signal);
  const { url, token: secret } = own;
  try {
    const bearer = needsBearer(mix) ? await bearerOf(own.home, 'urn:troupe:a2a') : undefined;
    const target = await Target.open({
      url,
      secret,
      connect: () => connectOperator({ url, token: secret, client: { version } }),
      ...connectionsOf(options),
      ...defined({ bearer }),
    });
    const close = async () => {
      target.close();
      await own.stop();
    };
    await seedNotes(target, mix).catch((error: unknown) => {
      target.close();
      throw error;
    });
    return { target, about: { url, kind: 'own', version }, isShared: true, close };
  } catch (error) {
    await own.stop();
    throw error;
  }
}

async function openExisting(
  options: RunOptions,
  mix: readonly string[],
  note: Note,
): Promise<LoadTarget> {
  if (options.url !== undefined && options.running === true)
    throw new TroupeError('INVALID_ARGUMENT', '--url and --running exclude each other');
  if (options.model !== undefined)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      '--model is for an own installation. For another one, run `troupe bench model` and configure it there',
    );
  const { json: _, bearer: given, ...client } = options;
  const gateway = await gatewayOf(client);
  const secret = gateway.token ?? gateway.password;
  const bearer = given ?? (await ownBearer(options, mix));
  const target = await Target.open({
    url: gateway.url.replace(/^http/, 'ws'),
    connect: () => connect(client),
    ...connectionsOf(options),
    ...defined({ secret, bearer }),
  } satisfies TargetOptions);
  try {
    const about = await describe(target.clients[0]!, gateway.url);
    await assertCostAllowed(target, mix, options);
    note(`this loads ${about.url} (troupe ${about.version}, ${about.kind})`);
    return {
      target,
      about,
      isShared: isLoopback(new URL(about.url).hostname),
      close: async () => target.close(),
    };
  } catch (error) {
    target.close();
    throw error;
  }
}

async function noteRunning(options: RunOptions, note: Note): Promise<void> {
  const { loadConfig } = await import('../../runtime/config/index.ts');
  const { runningGateway } = await import('../../installation/running-gateway.ts');
  const { config } = loadConfig({
    settings: {},
    env: process.env,
    flags: defined({ data: options.data }),
    rules: [],
  });
  const running = runningGateway(config.home);
  if (running === undefined) return;
  note(
    `troupe runs at ${running.url} and shares this machine; it is not loaded. To load it: --running`,
  );
}

/** The notes in which the searches of an own installation look. */
async function seedNotes(target: Target, mix: readonly string[]): Promise<void> {
  if (!mix.includes('memory')) return;
  const subjects = ['project', 'invoice', 'garden', 'server', 'meeting', 'journey', 'budget'];
  const content = Array.from({ length: 200 }, (_, at) => {
    const subject = subjects[at % subjects.length]!;
    return `## ${subject} ${at}\n\nThe deadline of the ${subject} ${at} is on day ${at % 28}. Ask person ${at % 17} about it.\n`;
  }).join('\n');
  const file = { agentId: 'main', name: 'AGENTS.md' };
  const { workspace } = await target.client().request('agents.files.get', file);
  mkdirSync(workspace, { recursive: true, mode: 0o700 });
  writeFileSync(join(workspace, 'MEMORY.md'), content);
}

const needsBearer = (mix: readonly string[]): boolean =>
  mix.includes('envelopes') || mix.includes('mcp');

/** For the gateway of this data folder, which accepts tokens that its folder has issued. */
async function ownBearer(options: RunOptions, mix: readonly string[]) {
  if (options.running !== true || !needsBearer(mix)) return undefined;
  const { json: _, ...common } = options;
  const { config } = await loadFrom(common);
  return bearerOf(config.home, config.a2a.resource);
}

/** The token of a program in the tenant of the conformance suite. */
export async function bearerOf(home: string, resource: string): Promise<string> {
  const { issueToken } = await import('../../channels/edge/identity/local-issuer.ts');
  const { CONFORMANCE_TENANT } = await import('../../conformance/agent/actions.ts');
  const who = { sub: `bench-${randomUUID()}`, tenant: CONFORMANCE_TENANT, roles: ['agent'] };
  const request = { ...who, resource, ttlSec: TOKEN_TTL_SEC, external: false };
  return issueToken(home, request, Date.now());
}

async function describe(client: GatewayClient, given: string): Promise<LoadReport['target']> {
  const hello = await client.ready();
  const { origin } = new URL(given);
  const url = origin === 'null' ? withoutCredentials(given) : origin;
  const shown = await client
    .request('operations.run', { name: 'cluster.show' })
    // a token that may not see the cluster can still be used for load
    .catch(() => ({ form: 'embedded' }));
  const kind = (shown as { form?: unknown }).form === 'cluster' ? 'cluster' : 'embedded';
  return { url, kind, version: hello.server.version };
}

function withoutCredentials(text: string): string {
  const { protocol, host } = new URL(text);
  return `${protocol}//${host}`;
}

/**
 * The offline model costs nothing, and neither does the one of `troupe bench model`, which is known
 * by the name that the command prints. Another model may cost something, also at a local address.
 * @throws TroupeError CONFLICT
 */
async function assertCostAllowed(
  target: Target,
  mix: readonly string[],
  { allowCost }: RunOptions,
): Promise<void> {
  if (allowCost === true || !mix.some((name) => WORKLOADS[name]?.usesModel)) return;
  const { models } = await target.client().request('models.list', {});
  const real = (models as readonly { id?: unknown; provider?: unknown }[])
    .filter(({ provider }) => provider !== 'offline')
    .map(({ provider, id }) => `${String(provider)}/${String(id)}`)
    .filter((name) => name !== modelSettings('').agents.defaults.model);
  if (real.length === 0) return;
  const shown = real.slice(0, 3).join(', ') + (real.length > 3 ? ', …' : '');
  throw new TroupeError(
    'CONFLICT',
    `agents there can use ${shown}: the load would call real models, which may cost money, and leave sessions until the end of the test. Allow it with --allow-cost, or use an own installation without --url and --running`,
  );
}
