/** A search that waits for its model while texts are erased stores no vector of them. */
import { expect, test } from 'vitest';
import { MemoryIndex } from '../../../memory/index.ts';
import { keyOf, rowsOfSegment } from '../../../memory/vectors/segment.ts';
import { heldFiles } from '../held-files.ts';
import { testModel, testStore } from './model.ts';

const [ERASED, KEPT] = ['Con mèo của chị Lan tên là Miu.', 'The invoice of March is paid.'];

function stage() {
  const [embedder, segments] = [testModel(), testStore()];
  const files = heldFiles([
    ['memory/pet.md', ERASED],
    ['memory/bill.md', KEPT],
  ]);
  const index = new MemoryIndex({ embedder, segments });
  const search = async () => {
    const { hits } = await index.search(files, { query: 'cat', maxResults: 3, minScore: 0 });
    return hits.map(({ path }) => path);
  };
  /** As an erasure does: first the texts, then the segments that it finds. */
  const erase = () => {
    files.texts.delete('memory/pet.md');
    segments.segments.clear();
  };
  const stored = async () => {
    const all = await Promise.all([...segments.segments.values()].map(rowsOfSegment));
    return all.flatMap((one) => [...one!.rows].map(({ key }) => key));
  };
  return { embedder, segments, search, erase, stored };
}

test('bug: a text that was erased while the model answered left a stored vector', async () => {
  const { embedder, search, erase, stored } = stage();
  const embed = embedder.embed.bind(embedder);
  embedder.embed = async (texts, as, signal) => {
    const answer = await embed(texts, as, signal);
    if (as === 'document') erase();
    return answer;
  };
  expect(await search()).not.toContain('memory/pet.md');
  expect(await search()).toEqual(['memory/bill.md']);
  expect(await stored()).toEqual([keyOf(KEPT)]);
});

test('a text that is erased while its segment is written leaves no vector', async () => {
  const { segments, search, erase, stored } = stage();
  const write = segments.write.bind(segments);
  segments.write = async (...of) => {
    // the erasure does not see the segment yet
    erase();
    await write(...of);
  };
  expect(await search()).not.toContain('memory/pet.md');
  expect(await search()).toEqual(['memory/bill.md']);
  expect(await stored()).toEqual([keyOf(KEPT)]);
});

test('bug: after the vectors were removed, each request read nearly all files', async () => {
  const sections = (file: number) =>
    Array.from({ length: 100 }, (_, n) => `# ${file}.${n}\nThe invoice ${file}-${n} is paid.`);
  const notes = (file: number) => [`memory/${file}.md`, sections(file).join('\n')] as const;
  const files = heldFiles(Array.from({ length: 20 }, (_, file) => notes(file)));
  const segments = testStore();
  const index = new MemoryIndex({ embedder: testModel(), segments });
  const search = () => index.search(files, { query: 'bill', maxResults: 1, minScore: 0 });
  expect(await search()).toMatchObject({ mode: 'hybrid', chunks: 2_000 });
  const first = files.reads;
  segments.segments.clear();
  files.put('memory/0.md', 'Another note.');
  expect(await search()).toMatchObject({ mode: 'hybrid', chunks: 1_901 });
  expect(files.reads - first).toBeLessThan(first);
});
