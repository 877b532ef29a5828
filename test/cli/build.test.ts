/** What the build writes into dist/. */
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
