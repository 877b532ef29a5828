/**
 * The sizes of the pages as they are built. Bug: a static import of a view in the shell would load
 * all views with the first conversation.
 */
import { gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { beforeAll, expect, test } from 'vitest';
import { pageBundles, taskAppBundle, taskAppPage } from '../../tools/build.mjs';

const KIB = 1_024;
let outputs: Metafile['outputs'];
let sizes: ReadonlyMap<string, number>;

beforeAll(async () => {
  const [page = {}] = pageBundles;
  const result = await build({ ...page, sourcemap: false, write: false });
  outputs = result.metafile!.outputs;
  sizes = new Map(
    result.outputFiles.map(({ path, contents }) => [
      Object.keys(outputs).find((name) => path.endsWith(name))!,
      gzipSync(contents, { level: 9 }).length,
    ]),
  );
}, 60_000);

/** The output of an entry, and everything that it imports at once. */
const loadedWith = (entry: string): ReadonlySet<string> => {
  const [first] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === entry)!;
  const loaded = new Set<string>();
  const add = (file: string): void => {
    if (loaded.has(file)) return;
    loaded.add(file);
    for (const { path, kind } of outputs[file]!.imports)
      if (kind === 'import-statement' && outputs[path]) add(path);
  };
  add(first);
  return loaded;
};

const gzipBytesOf = (entries: readonly string[], without: ReadonlySet<string> = new Set()) => {
  const files = new Set(entries.flatMap((entry) => [...loadedWith(entry)]));
  return [...files]
    .filter((file) => !without.has(file))
    .reduce((sum, file) => sum + sizes.get(file)!, 0);
};

test.each(['english', 'vietnamese'])('the conversation in %s loads at most 32 KB', (language) => {
  const entries = ['web/main.tsx', `web/strings/${language}.ts`];
  expect(gzipBytesOf(entries)).toBeLessThanOrEqual(32 * KIB);
});

test.each(['english', 'vietnamese'])('the operations in %s add at most 60 KB', (language) => {
  const entries = ['web/operations/main.tsx', `web/operations/strings/${language}.ts`];
  expect(gzipBytesOf(entries, loadedWith('web/main.tsx'))).toBeLessThanOrEqual(60 * KIB);
});

test('the actors with their statecharts add at most 22 KB, loaded with the first of them', () => {
  const operations = loadedWith('web/operations/main.tsx');
  const known = new Set([...loadedWith('web/main.tsx'), ...operations]);
  const entries = ['web/actors/actors-view.tsx', 'web/actors/session-chart.tsx'];
  expect([...operations].join()).not.toContain('actors-view');
  expect(gzipBytesOf(entries, known)).toBeLessThanOrEqual(22 * KIB);
});

test('the page that MCP clients show beside a task has at most 20 KB, and needs no other file', async () => {
  const { outputFiles } = await build(taskAppBundle);
  expect(outputFiles).toHaveLength(1);
  const page = taskAppPage(outputFiles[0]!.text);
  expect(gzipSync(page, { level: 9 }).length).toBeLessThanOrEqual(20 * KIB);
  expect(page.match(/<\/script/g)).toHaveLength(1);
  expect(page).not.toMatch(/\b(src|href)=|https?:\/\/(?!www\.w3\.org\/)|@import|import\(/);
});
