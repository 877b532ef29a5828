/** `troupe config init`: writes a configuration file to edit, and its JSON Schema beside it. */
import { writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { printJson } from '../output.ts';

/**
 * The schema is always written, so that a repeat after an update renews it.
 * @throws TroupeError CONFLICT when the configuration file exists, which stays as it is
 */
export async function init({ config: named, ...options }: CommonOptions): Promise<number> {
  const { configFileName, configSchema, initialConfig, makeFolder, SCHEMA_FILE_NAME } =
    await import('../../runtime/config/index.ts');
  const { home } = (await loadFrom({ ...options, config: undefined })).config;
  const given = named ?? process.env['TROUPE_CONFIG'];
  const file = given === undefined ? join(home, configFileName) : resolve(given);
  const schema = join(dirname(file), SCHEMA_FILE_NAME);
  makeFolder(dirname(file));
  writeFileSync(schema, `${JSON.stringify(configSchema, null, 2)}\n`);
  try {
    writeFileSync(file, initialConfig(), { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    throw new TroupeError('CONFLICT', `${file} exists and was not changed`, { cause });
  }
  if (options.json) printJson({ file, schema });
  else process.stdout.write(`${file}\n${schema}\nEdit the file, then: troupe config check\n`);
  return exitCodes.ok;
}
