/** How many questions find their note, without a model. */
import { expect, test } from 'vitest';
import { MemoryIndex } from '../../memory/index.ts';
import { heldFiles } from './held-files.ts';
import { filler, type Kind, NOTES, QUESTIONS } from './questions.ts';

const pathOf = (id: string) => `memory/${id}.md`;

test('of a multilingual set, 0.76 of the questions find their note among the first five', async () => {
  const fillers = filler(500).map((text, n) => [pathOf(`filler-${n}`), text] as const);
  const notes = Object.entries(NOTES).map(([id, text]) => [pathOf(id), text] as const);
  const files = heldFiles([...notes, ...fillers]);
  const index = new MemoryIndex();
  const found = new Map<Kind, boolean[]>();
  const missed: string[] = [];
  for (const [kind, query, id] of QUESTIONS) {
    const { hits } = await index.search(files, { query, maxResults: 5, minScore: 0 });
    const isFound = hits.some(({ path }) => path === pathOf(id));
    if (!isFound) missed.push(`${kind}: ${query}`);
    found.set(kind, [...(found.get(kind) ?? []), isFound]);
  }
  const share = (results: readonly boolean[]) => results.filter(Boolean).length / results.length;
  const byKind = Object.fromEntries([...found].map(([kind, results]) => [kind, share(results)]));
  if (process.env['SHOW'] !== undefined)
    console.log(byKind, share([...found.values()].flat()), missed);
  expect(QUESTIONS.length).toBeGreaterThanOrEqual(100);
  expect(byKind).toMatchObject({ word: 1, typo: 1, 'no marks': 1, form: 1 });
  expect(share([...found.values()].flat())).toBeGreaterThanOrEqual(0.76);
});
