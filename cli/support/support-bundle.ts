/**
 * `troupe support-bundle` writes one archive for a report of a problem. It works while troupe runs
 * and when it does not start.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { bytes, printJson } from '../output.ts';
import { withProgress } from '../progress.ts';
import { supportMask } from './support-mask.ts';
import { isRunning, SUPPORT_PARTS, type SupportInput, type SupportPart } from './support-parts.ts';
import { tarGz } from './tar.ts';

export type SupportOptions = CommonOptions & { readonly out?: string; readonly list?: boolean };

/**
 * Exit code 0 also if some parts cannot be read: their files say why. With an invalid
 * configuration file the archive contains its problems.
 * @throws ConfigError when the environment or an option is invalid; TroupeError CONFLICT when the
 * file exists
 */
export async function supportBundle({ out, list, ...options }: SupportOptions): Promise<number> {
  if (list) return printList(options);
  const file = resolve(
    out ?? `troupe-support-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.tar.gz`,
  );
  if (existsSync(file)) throw new TroupeError('CONFLICT', `${file} exists: name another file`);
  const input = await inputOf(options);
  const mask = supportMask(input, process.env);
  const files = new Map<string, string>();
  await withProgress(async ({ show }) => {
    for (const part of SUPPORT_PARTS) {
      show(`reading ${part.file}`);
      files.set(`troupe-support/${part.file}`, mask(await textOf(part, input)));
    }
  });
  const archive = tarGz(files, Date.now());
  writeFileSync(file, archive, { mode: 0o600, flag: 'wx' });
  if (options.json) printJson({ file, bytes: archive.length, parts: [...files.keys()] });
  else
    process.stdout.write(
      `${file} (${bytes(archive.length)}, ${files.size} files). Look into it before you send it: tar -xzf ${file}\n`,
    );
  return exitCodes.ok;
}

async function inputOf(options: CommonOptions): Promise<SupportInput> {
  try {
    return { loaded: await loadFrom(options), options };
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    const withoutFile = { ...options, ignoresFile: true } as const;
    return { loaded: await loadFrom(withoutFile), options: withoutFile, invalid: error };
  }
}

async function textOf(part: SupportPart, input: SupportInput): Promise<string> {
  try {
    if (part.ofRunning && !isRunning(input.loaded.config))
      return 'no gateway of this data folder runs on this machine\n';
    const read = await part.read(input);
    return typeof read === 'string' ? read : `${JSON.stringify(read, null, 2)}\n`;
  } catch (error) {
    return `cannot be read: ${errorData(error).message}\n`;
  }
}

function printList({ json }: CommonOptions): number {
  const parts = SUPPORT_PARTS.map(({ file, what, ofRunning }) => ({
    file,
    what,
    ofRunning: ofRunning === true,
  }));
  if (json) printJson({ parts });
  else
    for (const { file, what, ofRunning } of parts)
      process.stdout.write(
        `${file.padEnd(20)} ${what}${ofRunning ? ' (while troupe runs)' : ''}\n`,
      );
  return exitCodes.ok;
}
