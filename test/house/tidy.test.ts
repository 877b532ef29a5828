import { describe, expect, test } from 'vitest';
import { complaints, sources } from './sources.ts';
import { tidyFindings } from './tidy.ts';

const broken = (path: string, text: string): string[] =>
  tidyFindings(new Map([[path, text]])).map((finding) => `${finding.line} ${finding.rule}`);

const lines = (count: number, first = '/** head */') =>
  [first, ...Array<string>(count - 1).fill('x();')].join('\n');

describe('the rules of form', () => {
  test('hold for every file of this repository', () => {
    const files = sources(['.ts', '.tsx', '.mts', '.mjs']);
    expect(files.size).toBeGreaterThan(10);
    expect(complaints(tidyFindings(files))).toEqual([]);
  });

  test.each([
    ['runtime/a.ts', '\n// TODO later', '2 unfinished'],
    ['test/a.test.ts', 'describe.only("x", () => {});', '1 hidden test'],
    ['test/a.test.ts', 'test.skip("x", () => {});', '1 hidden test'],
    ['test/a.test.ts', 'test.concurrent.only("x", () => {});', '1 hidden test'],
    ['runtime/a.ts', 'console.log(1);', '1 stray print'],
    ['actors/a/machine.ts', 'const now = Date.now();', '1 impure machine (I7)'],
    ['actors/a/machine.ts', 'const luck = Math.random();', '1 impure machine (I7)'],
    ['actors/a/machine.ts', 'void fetch("x");', '1 impure machine (I7)'],
    ['runtime/a.ts', `// ${'x'.repeat(98)}`, '1 long comment line'],
    ['runtime/shardTurn.ts', '', '1 file name'],
    ['runtime/shard-utils.ts', '', '1 file name'],
    ['runtime/a.ts', lines(401), '400 long file'],
    ['runtime/a.ts', lines(41, 'x();'), '1 no file head'],
  ])('refuses, planted in %s: %s', (path, text, finding) => {
    expect(broken(path, text)).toEqual([finding]);
  });

  test.each([
    ['test/a.test.ts', 'test.skipIf(!chromium)("x", () => {});'],
    ['cli/a.ts', 'console.log(1);'],
    ['runtime/a.ts', ' * console.log(1) would print'],
    ['runtime/a.ts', 'const now = Date.now();'],
    ['runtime/a.ts', `// https://example.org/${'x'.repeat(98)}`],
    ['runtime/a.ts', lines(400)],
    ['runtime/a.ts', lines(40, 'x();')],
  ])('allows, in %s: %s', (path, text) => {
    expect(broken(path, text)).toEqual([]);
  });
});
