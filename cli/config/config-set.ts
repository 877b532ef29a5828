/**
 * `troupe config set`: changes one key, in the configuration file, or with `--cluster` in every
 * process of the cell.
 */
import { TroupeError } from '../../protocols/errors.ts';
import { exitCodes } from '../exit.ts';
import { type ClientOptions, loadFrom } from '../options.ts';
import { printJson } from '../output.ts';

export type ConfigSetOptions = ClientOptions & { readonly cluster?: boolean };

/**
 * @param text JSON5; anything else is a text, and `null` removes the key
 * @throws TroupeError INVALID_ARGUMENT with every problem that the file would have
 */
export async function set(
  path: string,
  text: string,
  { cluster, ...options }: ConfigSetOptions,
): Promise<number> {
  const value = await valueOf(text);
  return cluster ? setForCluster(path, value, options) : setInFile(path, value, options);
}

async function valueOf(text: string): Promise<unknown> {
  const { default: JSON5 } = await import('json5');
  try {
    return JSON5.parse(text);
  } catch {
    return text;
  }
}

async function setForCluster(
  path: string,
  value: unknown,
  options: ClientOptions,
): Promise<number> {
  const [{ set: operation }, { callOperation }, { gatewayHttp }] = await Promise.all([
    import('../../operations/settings.ts'),
    import('../run-operation.ts'),
    import('../client/gateway-http.ts'),
  ]);
  const changed = await callOperation(operation, await gatewayHttp(options), { path, value });
  if (options.json) printJson(changed);
  else process.stdout.write(`${path} has version ${changed.version} of the cluster settings\n`);
  return exitCodes.ok;
}

const EFFECTS = {
  process: 'takes effect at once',
  agents: 'takes effect at once; in a cluster: troupe config apply',
  restart: 'takes effect at the next start',
} as const;

async function setInFile(path: string, value: unknown, options: ClientOptions): Promise<number> {
  const [{ pointerOf, schemaAt, whenApplied }, { setAt, valueAt }, { ConfigFile, textOf }] =
    await Promise.all([
      import('../../runtime/config/index.ts'),
      import('../../runtime/config/pointer.ts'),
      import('../../installation/setup/config-file.ts'),
    ]);
  const pointer = pointerOf(path);
  if (schemaAt(pointer) === undefined)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${path} is not a key of the configuration: troupe config reference lists all`,
    );
  const { config, file: found } = await loadFrom(options);
  const file = new ConfigFile({ file: found, home: config.home });
  await file.replace(file.read().hash ?? undefined, ({ document }) => {
    const next = structuredClone(document) as Record<string, unknown>;
    setAt(next, pointer, value ?? undefined);
    if (valueAt(next, pointer) !== (value ?? undefined))
      throw new TroupeError('INVALID_ARGUMENT', `${path} is in a list: edit ${file.path}`);
    return textOf(next);
  });
  const when = whenApplied(pointer);
  if (options.json) printJson({ file: file.path, path, value, applied: when });
  else process.stdout.write(`${file.path}: ${path} ${EFFECTS[when]}\n`);
  return exitCodes.ok;
}
