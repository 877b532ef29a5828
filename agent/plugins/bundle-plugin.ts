/** The program of a plugin's process: the plugin's code, and the part of troupe that serves it. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleOf, type OwnModule } from '../bundle.ts';

/** Beside this file, beside the bundle of the program, or in the checkout of a bundled program. */
const moduleAt = (source: string, built: string): OwnModule => {
  const paths = [`./${source}`, `./${built}`, `../../agent/plugins/${source}`];
  const files = paths.map((path) => fileURLToPath(new URL(path, import.meta.url)));
  const file = files.find((one) => existsSync(one));
  if (file === undefined) throw new Error(`${files.join(', ')} are missing: build troupe again`);
  return { file };
};

const SERVE = 'troupe/plugin-process';

/** @param file of the plugin. @throws Error that describes the fault, with its line */
export const bundlePlugin = (file: string): Promise<string> =>
  bundleOf({
    file,
    // The plugin is evaluated when its process receives `start`, and never before the other part.
    entry: `import { servePlugin } from '${SERVE}';servePlugin(() => import(${JSON.stringify(file)}));`,
    modules: {
      'troupe/plugin-sdk': moduleAt('plugin-sdk.ts', 'plugin-sdk.js'),
      [SERVE]: moduleAt('child/serve-plugin.ts', 'serve-plugin.js'),
    },
  });
