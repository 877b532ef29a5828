/**
 * Searches of one index that run at once, and end early, while its notes change. They pause for
 * other work, so a search could rank with what another one has begun to count.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { MemoryIndex, type Question } from '../../memory/index.ts';
import { randomOf } from '../random.ts';
import { type HeldFiles, heldFiles } from './held-files.ts';
import { testModel } from './vectors/model.ts';

const random = randomOf(7);
const below = (end: number) => Math.floor(random() * end);
const word = () => `${'bcdfgklmnprst'[below(13)]}${'aeiou'[below(5)]}${'lmnrst'[below(6)]}e`;
const note = () =>
  Array.from(
    { length: 1 + below(12) },
    () => `# ${word()}\n${Array.from({ length: 60 }, word).join(' ')}`,
  ).join('\n');
const questionOf = (): Question => ({
  query: Array.from({ length: 12 }, word).join(' '),
  maxResults: 10,
  minScore: 0,
});
const hitsOf = async (index: MemoryIndex, files: HeldFiles, question: Question) =>
  (await index.search(files, question)).hits.map(({ excerpt: _, ...hit }) => ({
    ...hit,
    score: Number(hit.score.toFixed(4)),
  }));
const ordered = (hits: Awaited<ReturnType<typeof hitsOf>>) => hits.map(({ score }) => score);

it('rank as a search alone does, whatever ended or changed meanwhile', {
  timeout: 60_000,
}, async () => {
  const files = heldFiles();
  for (let n = 0; n < 250; n++) files.put(`memory/${n}.md`, note());
  const embedder = testModel();
  const index = new MemoryIndex({ embedder });
  await index.search(files, questionOf());
  for (let round = 0; round < 6; round++) {
    const ends = new AbortController();
    const running = Array.from({ length: 8 }, (_, n) =>
      index.search(files, { ...questionOf(), ...(n % 2 === 0 && { signal: ends.signal }) }),
    );
    const settled = Promise.allSettled(running);
    for (let n = 0; n < 60; n++) {
      files.put(`memory/${below(260)}.md`, note());
      files.texts.delete(`memory/${below(260)}.md`);
      if (n === 30) ends.abort(new Error('ended'));
      await turn();
    }
    await settled;
    const question = questionOf();
    const alone = await hitsOf(new MemoryIndex({ embedder }), files, question);
    const both = await Promise.all([
      hitsOf(index, files, question),
      hitsOf(index, files, question),
    ]);
    for (const hits of both) expect(ordered(hits)).toEqual(ordered(alone));
  }
});
