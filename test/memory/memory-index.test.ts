import { describe, expect, test } from 'vitest';
import { MemoryIndex, type Question } from '../../memory/index.ts';
import { linesOf } from '../../memory/chunks.ts';
import { CHUNKS_MAX, FILE_BYTES_MAX, FILES_MAX } from '../../memory/files.ts';
import { type HeldFiles, heldFiles } from './held-files.ts';

const ask = (index: MemoryIndex, files: HeldFiles, query: string, more: Partial<Question> = {}) =>
  index.search(files, { query, maxResults: 6, minScore: 0, ...more });
const paths = (answer: Awaited<ReturnType<typeof ask>>) => answer.hits.map(({ path }) => path);

/** Seeded, so that a failure can be repeated. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const CHANGES = ['new', 'new', 'append', 'append', 'move', 'delete'] as const;

describe('never stale', () => {
  test.each([1, 2, 3, 4, 5])('after random edits, moves and deletions (seed %i)', async (seed) => {
    const next = random(seed);
    const files = heldFiles();
    const index = new MemoryIndex();
    const word = () => `word${next(60)}`;
    const note = () =>
      Array.from({ length: 1 + next(40) }, () => `${word()} ${word()} ${word()}`).join('\n');
    for (let step = 0; step < 150; step++) {
      const known = [...files.texts.keys()];
      const path = known[next(known.length)];
      const change = path === undefined ? 'new' : CHANGES[next(CHANGES.length)];
      if (change === 'new') files.put(`memory/${next(50)}.md`, note());
      if (change === 'append') files.put(path!, `${files.texts.get(path!)}\n${note()}`);
      if (change === 'move') files.put(`memory/moved-${next(50)}.md`, files.texts.get(path!)!);
      if (change === 'move' || change === 'delete') files.texts.delete(path!);
      const query = word();
      const { hits, left } = await ask(index, files, query);
      expect(left).toEqual([]);
      for (const { path: at, startLine, endLine, excerpt } of hits)
        expect(
          linesOf(files.texts.get(at)!)
            .slice(startLine - 1, endLine)
            .join('\n'),
        ).toBe(excerpt);
      const hasIt = [...files.texts.values()].some((text) => text.split(/\s/).includes(query));
      if (hasIt) expect(hits.some(({ excerpt }) => excerpt.includes(query))).toBe(true);
    }
  });

  test('a file that changes between the comparison and the answer is searched again', async () => {
    const files = heldFiles([['memory/a.md', 'old cheese']]);
    const index = new MemoryIndex();
    await ask(index, files, 'cheese');
    let changes = 2;
    files.onRead = () => {
      if (changes-- > 0) files.put('memory/a.md', `new cheese ${changes}`);
    };
    const { hits, left } = await ask(index, files, 'cheese');
    expect(left).toEqual([]);
    expect(hits.map(({ excerpt }) => excerpt)).toEqual(['new cheese 0']);
  });

  test('a file that always changes is named, and its old text is not answered', async () => {
    const files = heldFiles([['memory/a.md', 'cheese']]);
    const index = new MemoryIndex();
    await ask(index, files, 'cheese');
    let change = 0;
    files.onRead = () => files.put('memory/a.md', `cheese ${change++}`);
    const { hits, left } = await ask(index, files, 'cheese');
    expect(hits).toEqual([]);
    expect(left).toMatchObject([{ path: 'memory/a.md', why: expect.stringMatching(/changes/) }]);
  });

  test('of unchanged files only the lines of hits are read', async () => {
    const files = heldFiles([
      ['memory/a.md', 'apple'],
      ['memory/b.md', 'pear'],
    ]);
    const index = new MemoryIndex();
    await ask(index, files, 'apple');
    Object.assign(files, { reads: 0, partReads: 0 });
    await ask(index, files, 'apple');
    expect([files.reads, files.partReads]).toEqual([0, 1]);
  });

  test('bug: a line of many chunks was read again for each of them', async () => {
    const files = heldFiles([['memory/a.md', `an apple of the farm, ${'apple '.repeat(9_000)}`]]);
    const index = new MemoryIndex();
    await ask(index, files, 'apple');
    Object.assign(files, { reads: 0, partReads: 0 });
    expect((await ask(index, files, 'apple')).hits).toHaveLength(1);
    expect([files.reads, files.partReads]).toEqual([0, 1]);
  });
});

describe('answers', () => {
  test('files that the question does not allow are as if they did not exist', async () => {
    const files = heldFiles([
      ['MEMORY.md', 'the secret garden'],
      ['memory/a.md', 'the public garden'],
    ]);
    const allows = (path: string) => path !== 'MEMORY.md';
    const answer = await ask(new MemoryIndex(), files, 'garden', { allows, maxResults: 1 });
    expect(paths(answer)).toEqual(['memory/a.md']);
  });

  test('what cannot be searched is named with the reason, if the question allows the file', async () => {
    const files = heldFiles([
      ['memory/large.md', 'x'.repeat(FILE_BYTES_MAX + 1)],
      ['memory/small.md', 'cheese'],
    ]);
    const index = new MemoryIndex();
    const answer = await ask(index, files, 'cheese');
    expect(paths(answer)).toEqual(['memory/small.md']);
    expect(answer.left).toMatchObject([{ path: 'memory/large.md', why: /bytes/ }].map(loosely));
    const allows = (path: string) => path !== 'memory/large.md';
    expect((await ask(index, files, 'cheese', { allows })).left).toEqual([]);
  });

  test('two hits never show the same lines, and scores are from 0 to 1, best first', async () => {
    const lines = Array.from({ length: 300 }, (_, n) => `line ${n} about cheese and bread`);
    const files = heldFiles([['memory/a.md', lines.join('\n')]]);
    const { hits } = await ask(new MemoryIndex(), files, 'cheese');
    expect(hits.length).toBeGreaterThan(2);
    const shown = hits.flatMap(({ startLine, endLine }) =>
      Array.from({ length: endLine - startLine + 1 }, (_, n) => startLine + n),
    );
    expect(new Set(shown).size).toBe(shown.length);
    const scores = hits.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(scores.every((score) => score > 0 && score <= 1)).toBe(true);
  });

  test('the excerpt of a long chunk has the words of the question, also within a long line', async () => {
    const long = `${'filler text without meaning '.repeat(50)}the cheese is in the cellar. ${'more filler '.repeat(50)}`;
    for (const text of [long, long.replaceAll('. ', '.\n').replaceAll('meaning ', 'meaning\n')]) {
      const files = heldFiles([['memory/a.md', text]]);
      const { hits } = await ask(new MemoryIndex(), files, 'cheese cellar');
      expect(hits[0]!.excerpt).toContain('cheese is in the cellar');
      expect(hits[0]!.excerpt.length).toBeLessThanOrEqual(700);
    }
  });

  test('lines that end as on Windows are found, too', async () => {
    const files = heldFiles([['memory/a.md', '# One\r\ncheese\r\n\r\n# Two\r\nbread\r\n']]);
    const index = new MemoryIndex();
    for (const [query, startLine] of [
      ['cheese', 1],
      ['bread', 4],
    ] as const)
      expect((await ask(index, files, query)).hits).toMatchObject([{ startLine }]);
  });

  test('marks of the daily log are no words', async () => {
    const files = heldFiles([['memory/a.md', '<!-- notes abc123 -->\n## agent:main\n\ncheese']]);
    expect((await ask(new MemoryIndex(), files, 'abc123')).hits).toEqual([]);
  });

  test('questions without words, and an empty memory, have no hits', async () => {
    const files = heldFiles([['memory/a.md', 'cheese']]);
    const index = new MemoryIndex();
    for (const query of ['', '?!', 'nothing'])
      expect((await ask(index, files, query)).hits).toEqual([]);
    expect((await ask(index, heldFiles(), 'cheese')).hits).toEqual([]);
  });

  test('words that are spelled alike find each other, and the exact one is first', async () => {
    const files = heldFiles([
      ['memory/a.md', 'the invoices of the supplier'],
      ['memory/b.md', 'one invoice of the supplier'],
    ]);
    const index = new MemoryIndex();
    expect(paths(await ask(index, files, 'invoice'))).toEqual(['memory/b.md', 'memory/a.md']);
    expect(paths(await ask(index, files, 'invioces'))).toContain('memory/a.md');
    files.texts.delete('memory/a.md');
    files.texts.delete('memory/b.md');
    expect((await ask(index, files, 'invoice')).hits).toEqual([]);
  });
});

const loosely = ({ path, why }: { path: string; why: RegExp }) => ({
  path,
  why: expect.stringMatching(why),
});

test('a search that is aborted ends with the reason, and the next one is complete', async () => {
  const files = heldFiles(
    Array.from({ length: 50 }, (_, n) => [`memory/${n}.md`, `cheese ${n}`] as const),
  );
  const index = new MemoryIndex();
  const abort = AbortSignal.abort(new Error('stopped'));
  await expect(ask(index, files, 'cheese', { signal: abort })).rejects.toThrow('stopped');
  expect((await ask(index, files, 'cheese', { maxResults: 50 })).hits).toHaveLength(50);
});

test('searches at once see the same index, and each is answered', async () => {
  const files = heldFiles([['memory/a.md', 'cheese']]);
  const index = new MemoryIndex();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => {
      files.put(`memory/n${n}.md`, `number ${n}`);
      return ask(index, files, 'cheese');
    }),
  );
  expect(answers.every((answer) => paths(answer)[0] === 'memory/a.md')).toBe(true);
});

test('a large note does not keep the process from other work', async () => {
  const text = Array.from({ length: 40_000 }, (_, n) => `line ${n} with word${n % 500}`).join('\n');
  const files = heldFiles([['memory/a.md', text]]);
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const { chunks } = await ask(new MemoryIndex(), files, 'word7');
  clearInterval(timer);
  expect(chunks).toBeGreaterThan(100);
  expect(turns).toBeGreaterThan(3);
});

describe('limits', () => {
  test('files and chunks beyond are not searched, and named', async () => {
    const small = Array.from({ length: FILES_MAX + 1 }, (_, n) => [`memory/${n}.md`, 'a'] as const);
    const many = await ask(new MemoryIndex(), heldFiles(small), 'a');
    expect(many.left).toMatchObject([{ path: `memory/${FILES_MAX}.md` }]);
    const each = '# one\ncheese\n'.repeat(1_000);
    const large = Array.from({ length: 101 }, (_, n) => [`memory/${n}.md`, each] as const);
    const full = await ask(new MemoryIndex(), heldFiles(large), 'cheese');
    expect(full).toMatchObject({ chunks: CHUNKS_MAX, left: [{ path: 'memory/100.md' }] });
  });

  test('an index of mostly removed texts is built again, with the same answers', async () => {
    const files = heldFiles([['memory/a.md', 'cheese']]);
    const index = new MemoryIndex();
    const text = (word: string) => `# ${word}\nbread ${word}\n`.repeat(600);
    for (const word of ['one', 'two', 'three', 'four']) {
      files.put('memory/b.md', text(word));
      files.reads = 0;
      expect(paths(await ask(index, files, word))[0]).toBe('memory/b.md');
    }
    // two changed files have left 1,200 removed texts: the unchanged file was read again, too
    expect(files.reads).toBe(2);
    expect(paths(await ask(index, files, 'cheese'))).toEqual(['memory/a.md']);
  });
});
