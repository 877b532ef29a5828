/** Where the built pages are. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Beside the bundle, or built by `npm run build` in a checkout; undefined: it is not built. */
export function pageFolder(): string | undefined {
  return ['./web/', '../dist/web/']
    .map((folder) => fileURLToPath(new URL(folder, import.meta.url)))
    .find((path) => existsSync(join(path, 'index.html')) && existsSync(join(path, 'main.js')));
}

/** The page that MCP clients show beside a task; undefined: it is not built. */
export function taskAppPath(): string | undefined {
  return ['./task-app.html', '../dist/task-app.html']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(path));
}
