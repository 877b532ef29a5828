/** The hooks that a gateway calls for the messages and commands of its clients, and for itself. */
import type { HookAbout, Hooks } from '../agent/hooks/hooks.ts';
import type { Gateway, TenantOptions } from '../channels/index.ts';

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
 * end. Hooks that tenants share are called once, for the first of them.
 */
export async function withGatewayHooks(
  ofTenants: Iterable<readonly [tenant: string, hooks: Hooks]>,
  gateway: Gateway,
): Promise<Gateway> {
  const called = new Map<Hooks, HookAbout>();
  for (const [tenant, hooks] of ofTenants)
    if (!called.has(hooks)) called.set(hooks, { tenant, agentId: '', sessionKey: '' });
  for (const [hooks, about] of called)
    await hooks.run('gateway_start', { port: gateway.port }, about);
  const stop = async (reason: string) => {
    for (const [hooks, about] of called) await hooks.run('gateway_stop', { reason }, about);
  };
  let stopping: Promise<void> | undefined;
  return {
    ...gateway,
    async close(options = {}) {
      await (stopping ??= stop(options.reason ?? 'stopped'));
      return gateway.close(options);
    },
  };
}
