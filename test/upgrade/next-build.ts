/**
 * A build of the next version of troupe: the same program with one more format of records, whose
 * entries have a longer header. Its version and its table of formats replace those of this version
 * when it is bundled, so this version contains nothing of it.
 */
import { cpSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as esbuild from 'esbuild';
import type { RecordFormat } from '../../protocols/upgrade.ts';
import { FORMATS } from '../../runtime/shard/commit/formats.ts';
import { program } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';

export const NEXT_VERSION = '99.0.0';
export const NEXT_FORMAT = 2;

const formats: readonly RecordFormat[] = [
  ...FORMATS,
  {
    format: NEXT_FORMAT,
    oldestReader: NEXT_FORMAT,
    headerBytes: 11,
    since: NEXT_VERSION,
    changes: 'four more bytes in each header',
  },
];

/** Replaces the version and the formats of this version. */
export const asNext: esbuild.Plugin = {
  name: 'next-version',
  setup(build) {
    build.onLoad({ filter: /runtime\/shard\/commit\/formats\.ts$/ }, () => ({
      contents: `export const FORMATS = ${JSON.stringify(formats)};`,
    }));
    build.onLoad({ filter: /\/package\.json$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const isOurs = path === join(root, 'package.json');
      const version = `"version": "${NEXT_VERSION}"`;
      const contents = isOurs ? text.replace(/"version": "[^"]*"/, version) : text;
      return { contents, loader: 'json' };
    });
  },
};

/** Builds it into a new folder. Returns the path of the program. */
export async function buildNext(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-next-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  cpSync(join(root, 'dist', 'web'), join(folder, 'web'), { recursive: true });
  await esbuild.build({
    ...program,
    entryPoints: {
      troupe: join(root, 'cli/main.ts'),
      'page-reader': join(root, 'agent/tools/web/net/page-reader.ts'),
    },
    outdir: folder,
    sourcemap: false,
    metafile: false,
    write: true,
    plugins: [asNext],
  });
  return join(folder, 'troupe.js');
}
