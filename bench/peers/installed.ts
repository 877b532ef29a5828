/**
 * Other libraries, measured beside troupe's own code in the same run. They are not dependencies:
 * `--peers FOLDER` names a folder in which they were installed with npm.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** undefined: it is not in the folder. @throws what the package throws when it is loaded */
export function installed<Package>(name: string): Package | undefined {
  const path = pathOf(name);
  return path === undefined ? undefined : (createRequire(path)(path) as Package);
}

/** The file that is loaded. */
export function pathOf(name: string): string | undefined {
  const folder = process.env['TROUPE_PEERS'];
  if (folder === undefined) return undefined;
  try {
    return createRequire(join(folder, 'package.json')).resolve(name);
  } catch {
    return undefined;
  }
}
