/** Opens the hooks of a configuration: loads its folder, and reports what cannot be loaded. */
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import type { Config } from '../../runtime/config/index.ts';
import type { HookModule } from './define-hooks.ts';
import { createHooks, type HookFailure } from './create-hooks.ts';
import type { Hooks } from './hooks.ts';
import { type HookFault, loadHooks } from './load.ts';

type Write = (facts: object, text: string) => void;

export type OpenHooksOptions = {
  readonly log: { readonly info: Write; readonly warn: Write; readonly error: Write };
  /** called for each hook that fails */
  readonly onFailure: () => void;
  /** whose hooks these are; absent: those of the installation */
  readonly tenant?: string;
  /** hooks of plugins; of equal priority they run after those of files */
  readonly plugins?: readonly HookModule[];
};

export const hooksFolder = ({ home, hooks }: Config): string => hooks.folder ?? join(home, 'hooks');

/**
 * Undefined without any hook.
 * @throws TroupeError INVALID_ARGUMENT for a file that cannot be loaded, if `hooks.required` is set
 */
export async function openHooks(
  config: Config,
  { log, onFailure, plugins = [], ...of }: OpenHooksOptions,
): Promise<Hooks | undefined> {
  const folder = hooksFolder(config);
  const { disabled, required } = config.hooks;
  const { loaded, faults } = await loadHooks({ folder, disabled });
  if (faults.length > 0 && required) throw notLoaded(faults);
  for (const { file, why } of faults)
    log.error({ alarm: true, ...of }, `hooks: ${file} is left out: ${why}`);
  const modules = [...loaded.map(({ module }) => module), ...plugins];
  if (modules.length === 0) return undefined;
  const hooks = createHooks({
    modules,
    onFailure,
    report: (failure) => log.warn({ alarm: true, ...of, ...factsOf(failure) }, failure.why),
  });
  log.info({ folder, ...of, hooks: hooks.names() }, `hooks: ${modules.length} loaded`);
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
