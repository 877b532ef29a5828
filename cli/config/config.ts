/** `troupe config`: shows the configuration, checks it, and prints its schema and its reference. */
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadFrom, loadToCheck } from '../options.ts';
import type { ConfigurationStatus } from '../../operations/operation.ts';
import { defined } from '../../protocols/defined.ts';
import { printJson } from '../output.ts';
import { runningConfiguration } from './running-config.ts';

/** Every value with its source; secrets, and logins in addresses, as `***`. */
export async function show(options: CommonOptions): Promise<number> {
  const { config: loaded, sources, file } = await loadFrom(options);
  const { leaves, showPointer, withoutLogin } = await import('../../runtime/config/index.ts');
  const running = await runningConfiguration(loaded.home, options);
  const config = JSON.parse(JSON.stringify(loaded), (_, value: unknown) =>
    typeof value === 'string' ? withoutLogin(value) : value,
  ) as typeof loaded;
  if (options.json) {
    printJson({ file, config, sources, ...defined({ running }) });
    return exitCodes.ok;
  }
  process.stdout.write(`file: ${file ?? 'none'}\n`);
  for (const [pointer, value] of leaves(config)) {
    const path = showPointer(pointer);
    process.stdout.write(`${path} = ${JSON.stringify(value)}  (${sources[path] ?? 'default'})\n`);
  }
  await printRunning(running);
  return exitCodes.ok;
}

/** @throws ConfigError with every problem */
export async function check(options: CommonOptions): Promise<number> {
  const { config, file } = await loadToCheck(options);
  const { warningsOf } = await import('../../installation/start-rules.ts');
  const warnings = warningsOf(config);
  const running = await runningConfiguration(config.home, options);
  if (options.json) {
    printJson({ ok: true, file, warnings, ...defined({ running }) });
    return exitCodes.ok;
  }
  process.stdout.write(`the configuration is valid (${file ?? 'no file, defaults only'})\n`);
  for (const { path, value, message } of warnings) {
    process.stdout.write(`warning: ${path} = ${value}: ${message}\n`);
  }
  await printRunning(running);
  return exitCodes.ok;
}

/** How the running gateway differs from the file. */
async function printRunning(running: ConfigurationStatus | undefined): Promise<void> {
  if (running === undefined) return;
  const { statusText } = await import('../../operations/settings.ts');
  const lines = statusText(running).trimEnd().split('\n');
  for (const line of lines) process.stdout.write(`running gateway: ${line}\n`);
}

/** The JSON Schema of the file. */
export async function schema(): Promise<number> {
  const { configSchema } = await import('../../runtime/config/index.ts');
  printJson(configSchema);
  return exitCodes.ok;
}

/** docs/config.md. */
export async function reference(): Promise<number> {
  const { configReference } = await import('../../runtime/config/index.ts');
  process.stdout.write(configReference());
  return exitCodes.ok;
}
