/** `troupe hooks`: lists and tests the hooks of this installation, without a running troupe. */
import type { HookModule } from '../../agent/hooks/define-hooks.ts';
import type { HookEvent, HookName } from '../../agent/hooks/hooks.ts';
import { hookNamesOf, loadHooks } from '../../agent/hooks/load.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { exitCodes } from '../exit.ts';
import { keepRunning } from '../keep-running.ts';
import { loadForTenant, type TenantOptions } from '../options.ts';
import { table } from '../../operations/text.ts';
import { printJson } from '../output.ts';

export type HooksTestOptions = TenantOptions & { readonly event?: string; readonly only?: string };

/** Exit code 1 when a file cannot be loaded. */
export async function list(options: TenantOptions): Promise<number> {
  const { folder, found } = await folderOf(options);
  const { faults } = found;
  const row = (state: string) => (one: { readonly file: string; readonly module: HookModule }) => ({
    name: one.module.name,
    state,
    priority: one.module.priority ?? 0,
    hooks: hookNamesOf(one.module),
    file: one.file,
  });
  const modules = [...found.loaded.map(row('on')), ...found.disabled.map(row('disabled'))];
  if (options.json) printJson({ folder, modules, faults });
  else {
    const cells = modules.map(({ name, state, priority, hooks, file }) => [
      name,
      state,
      String(priority),
      hooks.join(' '),
      file,
    ]);
    if (cells.length + faults.length === 0) process.stdout.write(`no hooks in ${folder}\n`);
    if (cells.length > 0)
      process.stdout.write(table(['module', 'state', 'priority', 'hooks', 'file'], cells));
    for (const { file, why } of faults) process.stderr.write(`${file} is left out: ${why}\n`);
  }
  return faults.length > 0 ? exitCodes.failure : exitCodes.ok;
}

/**
 * Exit code 1 when a hook failed.
 * @throws TroupeError NOT_FOUND when no hook handles the event; INVALID_ARGUMENT when
 *   `--event` is not a JSON object
 */
export async function test(hook: string, options: HooksTestOptions): Promise<number> {
  const name = hook as HookName;
  const { folder, found } = await folderOf(options);
  const modules = found.loaded
    .map(({ module }) => module)
    .filter((module) => options.only === undefined || module.name === options.only)
    .filter(({ hooks }) => hooks[name] !== undefined);
  if (modules.length === 0) {
    const who = options.only === undefined ? 'no module' : `no module named ${options.only}`;
    throw new TroupeError('NOT_FOUND', `${who} in ${folder} handles ${name}: troupe hooks list`);
  }
  const event = await eventOf(name, options.event);
  const { result, failures } = await keepRunning(
    called(name, event, modules, options.tenant ?? 'default'),
  );
  const names = modules.map((module) => module.name);
  if (options.json) printJson({ hook: name, modules: names, event, result, failures });
  else {
    process.stdout.write(`${name} of ${names.join(', ')}\nevent: ${JSON.stringify(event)}\n`);
    const outcome = result === undefined ? 'nothing changed' : JSON.stringify(result);
    process.stdout.write(`result: ${outcome}\n`);
    for (const failure of failures) process.stderr.write(`failed: ${failure}\n`);
  }
  return failures.length > 0 ? exitCodes.failure : exitCodes.ok;
}

const SAMPLE_RUN = { agentId: 'main', sessionKey: 'agent:main:main', runId: 'test' };

/** As in a run. The refusal of a hook that fails closed is counted as a failure. */
async function called<Name extends HookName>(
  name: Name,
  event: HookEvent<Name>,
  modules: readonly HookModule[],
  tenant: string,
) {
  const about = { tenant, ...SAMPLE_RUN };
  const { createHooks } = await import('../../agent/hooks/create-hooks.ts');
  const failures: string[] = [];
  const hooks = createHooks({
    modules,
    report: ({ module, why }) => failures.push(`${module}: ${why}`),
  });
  const result = await (name === 'tool_result_persist'
    ? Promise.resolve().then(() => ({
        result: hooks.persisted(event as HookEvent<'tool_result_persist'>, about),
      }))
    : hooks.run(name, event, about)
  ).catch((error: unknown) => {
    if (failures.length === 0) throw error;
    return undefined;
  });
  return { result, failures };
}

async function eventOf(name: HookName, text?: string): Promise<HookEvent<HookName>> {
  const { hookSamples } = await import('./hook-samples.ts');
  if (text === undefined) return hookSamples[name];
  const json = text === '-' ? await stdinText() : text;
  try {
    const given: unknown = JSON.parse(json);
    if (typeof given === 'object' && given !== null && !Array.isArray(given))
      return { ...hookSamples[name], ...given };
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', `--event is not JSON: ${String(cause)}`, { cause });
  }
  throw new TroupeError('INVALID_ARGUMENT', '--event must be a JSON object');
}

async function stdinText(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

async function folderOf(options: TenantOptions) {
  const { config } = await loadForTenant(options);
  const { hooksFolder } = await import('../../agent/hooks/open-hooks.ts');
  const folder = hooksFolder(config);
  return { folder, found: await loadHooks({ folder, disabled: config.hooks.disabled }) };
}
