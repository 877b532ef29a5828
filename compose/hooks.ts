/** Loads the hooks of an installation when a process starts, and connects them to its gateway. */
import { join } from 'node:path';
import { createHooks, type HookFailure } from '../agent/hooks/create-hooks.ts';
import type { HookAbout, Hooks } from '../agent/hooks/hooks.ts';
import { type HookFault, loadHooks } from '../agent/hooks/load.ts';
import type { Gateway, TenantOptions } from '../channels/index.ts';
import { TroupeError } from '../protocols/errors.ts';
import { type Config, ownSections } from '../runtime/config/index.ts';
import type { ProcessServices } from './process-services.ts';
import type { TenantParts } from './tenant-parts.ts';

export const hooksFolder = ({ home, hooks }: Config): string => hooks.folder ?? join(home, 'hooks');

/**
 * Adds the hooks of the configuration, and of each tenant that has its own. Logs files that cannot
 * be loaded.
 * @throws TroupeError INVALID_ARGUMENT for such a file if `hooks.required` is set
 */
export async function withHooks(
  config: Config,
  processServices: ProcessServices,
): Promise<ProcessServices> {
  const failures = { count: 0 };
  const hooks = await hooksOf(config, processServices, failures);
  const tenants = await Promise.all(
    [...processServices.tenants].map(async ([tenant, parts]): Promise<[string, TenantParts]> => {
      const isOwn = ownSections(config, tenant).includes('hooks');
      const own = isOwn ? await hooksOf(parts.config, processServices, failures, tenant) : hooks;
      return [tenant, withOwn(parts, own)];
    }),
  );
  const all = [hooks, ...tenants.map(([, { services }]) => services.hooks)];
  if (all.some((one) => one !== undefined && one.names().length > 0))
    processServices.metrics.gauge(
      'troupe_hook_failures',
      'Hooks of this process that threw, timed out or returned an invalid value, since its start',
      () => failures.count,
    );
  return { ...processServices, ...withOwn(processServices, hooks), tenants: new Map(tenants) };
}

const withOwn = <Parts extends TenantParts>(parts: Parts, hooks: Hooks | undefined): Parts =>
  hooks === undefined ? parts : { ...parts, services: { ...parts.services, hooks } };

/** Undefined for a folder without hooks. */
async function hooksOf(
  config: Config,
  { log }: Pick<ProcessServices, 'log'>,
  failures: { count: number },
  tenant?: string,
): Promise<Hooks | undefined> {
  const folder = hooksFolder(config);
  const { loaded, faults } = await loadHooks({ folder, disabled: config.hooks.disabled });
  if (faults.length > 0 && config.hooks.required) throw notLoaded(faults);
  const of = tenant === undefined ? {} : { tenant };
  for (const { file, why } of faults)
    log.error({ alarm: true, ...of }, `hooks: ${file} is left out: ${why}`);
  if (loaded.length === 0) return undefined;
  const hooks = createHooks({
    modules: loaded.map(({ module }) => module),
    onFailure: () => failures.count++,
    report: (failure) => log.warn({ alarm: true, ...of, ...factsOf(failure) }, failure.why),
  });
  log.info({ folder, ...of, hooks: hooks.names() }, `hooks: ${loaded.length} loaded`);
  return hooks;
}

const notLoaded = (faults: readonly HookFault[]): TroupeError =>
  new TroupeError(
    'INVALID_ARGUMENT',
    `${faults.map(({ file, why }) => `${file}: ${why}`).join('; ')}. ` +
      'Correct it, name it in hooks.disabled, or set hooks.required to false',
  );

const factsOf = ({ module, hook, about, unreported }: HookFailure) => ({
  module,
  hook,
  session: about.sessionKey,
  ...(unreported === 0 ? {} : { unreported }),
});

/** The hooks that a gateway calls while it is open. */
export const messageHooks = (
  hooks: Hooks,
  tenant: string,
): Pick<TenantOptions, 'onCommand' | 'onMessage'> => ({
  ...(hooks.has('command') && {
    onCommand: (command, about) => hooks.run('command', command, { ...about, tenant }),
  }),
  ...(hooks.has('message_received') && {
    onMessage: (message, about) => hooks.run('message_received', message, { ...about, tenant }),
  }),
});

/**
 * Calls the start hooks of the gateway now, and the stop hooks before clients are notified of the
 * end.
 */
export async function withGatewayHooks(
  hooks: Hooks,
  tenant: string,
  gateway: Gateway,
): Promise<Gateway> {
  const about: HookAbout = { tenant, agentId: '', sessionKey: '' };
  await hooks.run('gateway_start', { port: gateway.port }, about);
  let stopping: Promise<unknown> | undefined;
  return {
    ...gateway,
    async close(options = {}) {
      const { reason = 'stopped' } = options;
      await (stopping ??= hooks.run('gateway_stop', { reason }, about));
      return gateway.close(options);
    },
  };
}
