/** What the build writes into dist/. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { bundle, ensureBuilt } from '../../tools/build.mjs';

ensureBuilt();

/** The text of each file of the program by its name; files of older builds are not among them. */
function programFiles(): Map<string, string> {
  const files = new Map<string, string>();
  const add = (name: string): void => {
    if (files.has(name)) return;
    const text = readFileSync(join(dirname(bundle), name), 'utf8');
    files.set(name, text);
    for (const [, next] of text.matchAll(/(?:from|import\(|import) ?"\.\/([^"]+\.js)"/g))
      add(next!);
  };
  add('troupe.js');
  return files;
}

// Bug hunted: one character of a comment needs two bytes, and V8 keeps two for each character of a
// file of 600 KB.
test('the files of the program are ASCII', () => {
  const files = programFiles();
  expect(files.size).toBeGreaterThan(100);
  expect(
    [...files].filter(([, text]) => /[\u0080-\uffff]/.test(text)).map(([name]) => name),
  ).toEqual([]);
});

// Bug hunted: without a first line that names Node, the command `troupe` of the container image
// does not start. Then its health checks and `docker compose exec gateway troupe` fail.
test('the system can run the program as a command', () => {
  expect(programFiles().get('troupe.js')).toMatch(/^#!\/usr\/bin\/env node\n/);
  expect(execFileSync(bundle, ['--version'], { encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+\n$/);
});

// Bug hunted: a file that is loaded while it loads another one sees names without values.
test('the files of the program do not import each other in a circle', () => {
  const imports = new Map(
    [...programFiles()].map(([name, text]) => [
      name,
      [...text.matchAll(/(?:from|import) ?"\.\/([^"]+\.js)"/g)].map(([, next]) => next!),
    ]),
  );
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]): void => {
    if (path.includes(name)) circles.push([...path, name].join(' > '));
    else if (!done.has(name)) for (const next of imports.get(name)!) visit(next, [...path, name]);
    done.add(name);
  };
  for (const name of imports.keys()) visit(name, []);
  expect(circles).toEqual([]);
});
