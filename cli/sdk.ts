/**
 * `troupe sdk`: writes the TypeScript or Python client of this version into a folder. The client
 * needs no other part of troupe.
 */
import { cpSync, existsSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TroupeError } from '../protocols/errors.ts';
import { exitCodes } from './exit.ts';
import { printJson } from './output.ts';
import { makeFolder } from '../runtime/config/index.ts';

export const SDK_LANGUAGES = ['typescript', 'python'] as const;
export type SdkOptions = { readonly out: string; readonly json?: boolean };

/** @throws TroupeError CONFLICT when the folder is not empty; UNAVAILABLE without a build */
export function writeSdk(
  language: (typeof SDK_LANGUAGES)[number],
  { out, json = false }: SdkOptions,
): number {
  if (statSync(out, { throwIfNoEntry: false })?.isDirectory() && readdirSync(out).length > 0) {
    const message = `${out} is not empty: name a new folder, or empty it`;
    throw new TroupeError('CONFLICT', message, { details: { out } });
  }
  makeFolder(out);
  cpSync(join(sdkFolder(), language), out, { recursive: true });
  const template = join(out, 'package.template.json');
  if (existsSync(template)) renameSync(template, join(out, 'package.json'));
  const files = readdirSync(out, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  if (json) printJson({ language, out, files });
  else process.stdout.write(`${files.join('\n')}\n`);
  return exitCodes.ok;
}

/** Beside the bundle, or built by `npm run build` in a checkout. */
function sdkFolder(): string {
  const found = ['./sdk/', '../dist/sdk/']
    .map((folder) => fileURLToPath(new URL(folder, import.meta.url)))
    .find((folder) => existsSync(join(folder, 'python')));
  if (found !== undefined) return found;
  throw new TroupeError('UNAVAILABLE', 'the SDKs are not built: run npm run build');
}
