/** The hooks of a plugin as a module of hooks: time limits and failures are those of hook files. */
import type { HookModule } from '../hooks/define-hooks.ts';
import { type HookAbout, HOOKS, type HookName } from '../hooks/hooks.ts';
import type { Plugin } from './plugin.ts';

export function pluginHooks(plugin: Plugin): HookModule {
  const { hooks = [], priority } = plugin.found.manifest;
  return {
    name: plugin.id,
    ...(priority === undefined ? {} : { priority }),
    hooks: Object.fromEntries(hooks.map((name) => [name, handlerOf(plugin, name)])),
  };
}

const handlerOf =
  (plugin: Plugin, name: HookName) =>
  (event: unknown, { signal, ...about }: HookAbout & { readonly signal: AbortSignal }) =>
    plugin.call({
      kind: 'hook',
      name,
      input: event,
      about,
      timeoutMs: HOOKS[name].timeoutMs,
      signal,
    }) as Promise<never>;
