/** The page as `npm run build` builds it. */
import { join } from 'node:path';
import { ensureBuilt } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';

let isBuilt = false;

/** Its folder, of the program of this checkout; built first where that is stale. */
export function builtPage(): string {
  if (!isBuilt) ensureBuilt();
  isBuilt = true;
  return join(root, 'dist', 'web');
}
