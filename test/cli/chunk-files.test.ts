/** Which chunks of the program become one file (tools/chunk-files.mjs). */
import { expect, test } from 'vitest';
import { chunkFiles } from '../../tools/chunk-files.mjs';
import { namesOf } from '../../tools/merge-chunks.mjs';

type Chunks = Parameters<typeof chunkFiles>[0];
const start = 'cli/processes/start.ts';

/**
 * A chunk of 1 KB that imports these, or an entry; modules from outside begin with `node:` or `@`.
 */
const chunk = (imports: readonly string[], entryPoint?: string): Chunks[string] => ({
  bytes: 1000,
  ...(entryPoint === undefined ? {} : { entryPoint }),
  imports: imports.map((path) => ({
    path: /^(node:|@)/.test(path) ? path : `${path}.js`,
    kind: 'import-statement',
    ...(/^(node:|@)/.test(path) ? { external: true } : {}),
  })),
});

const filesOf = (chunks: Readonly<Record<string, Chunks[string]>>): readonly string[] =>
  chunkFiles(Object.fromEntries(Object.entries(chunks).map(([name, each]) => [`${name}.js`, each])))
    .map((members) =>
      members
        .map((path) => path.replace('.js', ''))
        .toSorted()
        .join('+'),
    )
    .toSorted();

test('chunks that are loaded together become one file; entries stay alone', () => {
  const chunks = { start: chunk(['a', 'b'], start), a: chunk(['c']), b: chunk([]), c: chunk([]) };
  expect(filesOf(chunks)).toEqual(['a+b+c', 'start']);
});

test('a little code that a rare command does not need is loaded with it, much is not', () => {
  const shared = { start: chunk(['a', 'b'], start), rare: chunk(['b'], 'cli/rare.ts') };
  const chunks = { ...shared, a: chunk([]), b: chunk([]) };
  expect(filesOf(chunks)).toEqual(['a+b', 'rare', 'start']);
  const large = { ...chunks, a: { ...chunk([]), bytes: 290_000 } };
  expect(filesOf(large)).toEqual(['a', 'b', 'rare', 'start']);
});

// Bug hunted: `troupe token` loaded XState, and `troupe doctor` 500 KB that a merged chunk imports.
test('no command loads a package or much code because a chunk beside its own imports it', () => {
  const shared = { start: chunk(['a', 'b'], start), rare: chunk(['b'], 'cli/rare.ts') };
  const apart = ['a', 'b', 'rare', 'start'];
  expect(filesOf({ ...shared, a: chunk(['@xstate']), b: chunk([]) })).toEqual(apart);
  const far = { ...shared, a: chunk(['large']), b: chunk([]), large: chunk([]) };
  const chunks = { ...far, large: { ...chunk([]), bytes: 299_500 } };
  expect(filesOf(chunks)).toEqual(['a', 'b', 'large', 'rare', 'start']);
});

test('files do not import each other in a circle', () => {
  const chunks = {
    start: chunk(['a'], start),
    a: chunk(['large']),
    large: { ...chunk(['b']), bytes: 299_500 },
    b: chunk([]),
  };
  expect(filesOf(chunks)).toEqual(['a', 'b', 'large', 'start']);
});

test('a file stays below the size that V8 parses in little memory', () => {
  const names = Array.from({ length: 10 }, (_, at) => `c${at}`);
  const chunks = Object.fromEntries(names.map((name) => [name, { ...chunk([]), bytes: 70_000 }]));
  const sizes = filesOf({ ...chunks, start: chunk(names, start) }).map((x) => x.split('+').length);
  expect(Math.max(...sizes)).toBe(4);
});

// Bug hunted: a file kept its name although one that it imports got another one, so a process of
// the former build that loads it late would have two of some modules.
test('the name of a file changes with each chunk that it can load', () => {
  const namesWith = (last: string) => {
    const outputs = {
      'main.js': chunk(['use-1'], 'cli/main.ts'),
      'use-1.js': chunk(['x-1']),
      'x-1.js': chunk([]),
      'y-1.js': chunk(['z-1']),
      // lazily, so that all files reach the same chunks
      'z-1.js': chunk(['use-1']),
      [`${last}.js`]: chunk([]),
    };
    const files = [['main.js'], ['use-1.js'], ['x-1.js', 'y-1.js'], ['z-1.js', `${last}.js`]];
    return [...namesOf(files, outputs, { troupe: 'cli/main.ts' }).values()];
  };
  const [main, ...before] = namesWith('w-1');
  const [mainAfter, ...after] = namesWith('w-2');
  expect([main, mainAfter]).toEqual(['troupe', 'troupe']);
  expect(before.filter((name) => after.includes(name))).toEqual([]);
  expect(namesWith('w-1')).toEqual([main, ...before]);
  expect(new Set(before).size).toBe(3);
});
