/**
 * Writes protocols/schemas/: `node tools/run.mjs tools/generate-schemas.ts`. With `--check` it
 * writes nothing and exits with 1 when a file is missing, stale, or not generated. Runs in the
 * repository's root.
 */
import * as fs from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { schemaFiles } from './schema-files.ts';

const folder = join(process.cwd(), 'protocols', 'schemas');
const files = new Map([...schemaFiles()].map(([path, text]) => [join(folder, path), text]));

const found = fs.existsSync(folder)
  ? fs
      .readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
  : [];
const orphans = found.filter((path) => !files.has(path));
const stale = [...files].filter(
  ([path, text]) => !found.includes(path) || fs.readFileSync(path, 'utf8') !== text,
);

const say = (path: string, what: string) =>
  console.error(`${relative(process.cwd(), path)}: ${what}`);

if (process.argv.includes('--check')) {
  for (const [path] of stale)
    say(path, 'is not what the sources say; run tools/generate-schemas.ts');
  for (const path of orphans) say(path, 'comes from no source; remove it');
  process.exitCode = stale.length + orphans.length === 0 ? 0 : 1;
} else {
  for (const [path, text] of stale) {
    fs.mkdirSync(dirname(path), { recursive: true });
    fs.writeFileSync(path, text);
    say(path, 'written');
  }
  for (const path of orphans) {
    fs.rmSync(path);
    say(path, 'removed');
  }
}
