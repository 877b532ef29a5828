/** The index with an embedder: what it finds by meaning, and what it does when the model fails. */
import { expect, test } from 'vitest';
import {
  type Embedder,
  MemoryIndex,
  type MemoryIndexOptions,
  type Question,
} from '../../../memory/index.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { type HeldFiles, heldFiles } from '../held-files.ts';
import { eventually } from '../../runtime/eventually.ts';
import { randomOf } from '../../random.ts';
import { testModel, testStore } from './model.ts';

const NOTES: readonly (readonly [string, string])[] = [
  ['memory/pet.md', 'Con mèo của chị Lan tên là Miu.'],
  ['memory/bill.md', 'The invoice of March is paid.'],
  ['memory/trip.md', 'Vacation: two weeks in Huế.'],
];

function opened(options: MemoryIndexOptions & { readonly files?: HeldFiles } = {}) {
  const { files = heldFiles(NOTES), ...rest } = options;
  const index = new MemoryIndex({ embedder: testModel(), ...rest });
  const ask = (query: string, more: Partial<Question> = {}) =>
    index.search(files, { query, maxResults: 3, minScore: 0.3, ...more });
  const find = async (query: string) => (await ask(query)).hits.map(({ path }) => path);
  return { files, ask, find };
}

test('finds a note in another language and in other words', async () => {
  const { ask, find } = opened();
  expect(await find('kitten')).toEqual(['memory/pet.md']);
  expect(await find('发票')).toEqual(['memory/bill.md']);
  const { mode, hits } = await ask('kỳ nghỉ');
  expect(mode).toBe('hybrid');
  expect(hits).toMatchObject([{ path: 'memory/trip.md', score: 0.5, excerpt: NOTES[2]![1] }]);
  expect(hits[0]!.vectorScore).toBeGreaterThan(0.8);
});

test('a note that both lists have is better than others', async () => {
  const files = heldFiles([...NOTES, ['memory/other.md', 'The bill of April is open.']]);
  const { hits } = await opened({ files }).ask('invoice');
  expect(hits.map(({ path }) => path)).toEqual(['memory/bill.md', 'memory/other.md']);
  expect(hits[0]).toMatchObject({ score: 1, textScore: expect.any(Number) });
  expect(hits[1]!.textScore).toBeUndefined();
});

test('each text is embedded once, also when its file moves, and in another index', async () => {
  const [embedder, segments] = [testModel(), testStore()];
  const { files, ask } = opened({ embedder, segments });
  expect(await ask('cat')).toMatchObject({ usage: { inputTokens: 4, costUsd: 0.002 } });
  files.put('memory/copy.md', NOTES[0]![1]);
  files.texts.delete('memory/pet.md');
  expect(await ask('cat')).toMatchObject({ mode: 'hybrid', usage: { inputTokens: 0 } });
  const other = opened({ embedder, segments, files });
  expect(await other.ask('mèo')).toMatchObject({ mode: 'hybrid', usage: { inputTokens: 1 } });
  expect(embedder.texts.toSorted()).toEqual(
    ['cat', 'mèo', ...NOTES.map(([, text]) => text)].toSorted(),
  );
});

test('two indexes share what one of them has embedded later', async () => {
  const [embedder, segments] = [testModel(), testStore()];
  const [one, other] = [opened({ embedder, segments }), opened({ embedder, segments })];
  await Promise.all([one.ask('cat'), other.ask('cat')]);
  const before = embedder.texts.length;
  for (const { files } of [one, other]) files.put('memory/new.md', 'A doctor for the knee.');
  await one.ask('cat');
  expect(await other.ask('cat')).toMatchObject({ mode: 'hybrid' });
  expect(embedder.texts.length).toBe(before + 1);
});

test('a deleted note is not found, and its vector is removed with later ones', async () => {
  const [embedder, segments] = [testModel(), testStore()];
  const { files, ask, find } = opened({ embedder, segments });
  await ask('cat');
  files.texts.delete('memory/pet.md');
  expect(await find('cat')).toEqual([]);
  for (let n = 0; n < 20; n++) {
    files.put('memory/new.md', `Number ${n}`);
    expect(await ask('cat')).toMatchObject({ mode: 'hybrid' });
  }
  expect(segments.segments.size).toBeLessThan(17);
  files.put('memory/pet.md', NOTES[0]![1]);
  await ask('cat');
  expect(embedder.texts.filter((text) => text === NOTES[0]![1])).toHaveLength(2);
});

test('vectors of two models are never compared', async () => {
  const segments = testStore();
  const { files } = opened();
  const first = opened({ embedder: testModel('one'), segments, files });
  await first.ask('cat');
  const old = [...segments.segments.keys()];
  const second = testModel('two');
  second.failures.push(
    new TroupeError('UNAUTHORIZED', 'no key'),
    new TroupeError('UNAUTHORIZED', 'no key'),
  );
  const { ask, find } = opened({ embedder: second, segments, files });
  expect(await ask('mèo')).toMatchObject({ mode: 'text', whyText: 'no key' });
  expect(await find('mèo')).toEqual(['memory/pet.md']);
  expect([...segments.segments.keys()]).toEqual(old);
  const later = opened({ embedder: testModel('two'), segments, files });
  expect(await later.ask('cat')).toMatchObject({ mode: 'hybrid' });
  expect([...segments.segments.keys()].filter((name) => old.includes(name))).toEqual([]);
});

test('a model that fails is left alone, and notes are found by their words', async () => {
  const embedder = testModel();
  const { ask } = opened({ embedder });
  const down = new TroupeError('FORBIDDEN', 'the quota is used up', { retryAfterMs: 2_000 });
  embedder.failures.push(down, down);
  const failed = { mode: 'text', whyText: 'the quota is used up' };
  expect(await ask('mèo')).toMatchObject({ ...failed, hits: [{ path: 'memory/pet.md' }] });
  expect(await ask('cat')).toMatchObject({ ...failed, hits: [] });
  expect(embedder.texts).toEqual([]);
  await eventually(async () =>
    expect(await ask('cat')).toMatchObject({ mode: 'hybrid', hits: [{ path: 'memory/pet.md' }] }),
  );
});

test('it waits as long as the model asks for, if there is time', async () => {
  const embedder = testModel();
  const busy = new TroupeError('RATE_LIMIT_EXCEEDED', 'slow down', { retryAfterMs: 60 });
  embedder.failures.push(busy, busy);
  const { ask } = opened({ embedder });
  expect(await ask('cat')).toMatchObject({ mode: 'hybrid' });
  embedder.failures.push(busy);
  const answer = await ask('bill', { embedMs: 10 });
  expect(answer).toMatchObject({ mode: 'text', whyText: 'slow down' });
});

test('without time for all chunks it continues with the next question', async () => {
  const files = heldFiles(Array.from({ length: 300 }, (_, n) => [`memory/${n}.md`, `note ${n}`]));
  const embedder = testModel();
  const { ask } = opened({ embedder, files });
  const first = await ask('cat', { embedMs: 0 });
  expect(first).toMatchObject({ mode: 'text', whyText: '300 chunks have no vector yet' });
  const missing: number[] = [];
  const second = await ask('cat', { onProgress: (count) => void missing.push(count) });
  expect(second.mode).toBe('hybrid');
  expect(missing).toHaveLength(4);
  expect(missing.at(-1)).toBe(0);
});

test('a text that the model refuses is found by its words, and the others by meaning', async () => {
  const embedder = testModel();
  const tooLong = new TroupeError('INVALID_ARGUMENT', 'too long');
  embedder.refuses = (text) => text.includes('invoice') && tooLong;
  const { ask, find } = opened({ embedder });
  expect(await ask('kitten')).toMatchObject({ mode: 'hybrid', refused: 1 });
  expect(await find('发票')).toEqual([]);
  expect(await find('March paid')).toEqual(['memory/bill.md']);
});

test('a model that refuses everything is not asked for each text', async () => {
  const embedder = testModel();
  let requests = 0;
  embedder.refuses = () => {
    requests += 1;
    return new TroupeError('INVALID_ARGUMENT', 'there is no such model');
  };
  const files = heldFiles(Array.from({ length: 300 }, (_, n) => [`memory/${n}.md`, `note ${n}`]));
  const { ask } = opened({ embedder, files });
  expect(await ask('cat')).toMatchObject({ mode: 'text', whyText: 'there is no such model' });
  expect(embedder.texts).toEqual([]);
  expect(requests).toBeLessThan(2_000);
});

test('damaged segments are removed, and their texts embedded again', async () => {
  const [embedder, segments] = [testModel(), testStore()];
  const { files } = opened();
  await opened({ embedder, segments, files }).ask('cat');
  const [name, bytes] = [...segments.segments][0]!;
  bytes[30]! ^= 4;
  const { ask } = opened({ embedder, segments, files });
  expect(await ask('kitten')).toMatchObject({ mode: 'hybrid', hits: [{ path: 'memory/pet.md' }] });
  expect(embedder.texts.filter((text) => text === NOTES[0]![1])).toHaveLength(2);
  expect(segments.segments.get(name)).not.toBe(bytes);
});

test('vectors that cannot be stored are used, and stored later', async () => {
  const [embedder, segments] = [testModel(), testStore()];
  const { files, ask } = opened({ embedder, segments });
  await ask('cat');
  files.put('memory/new.md', 'A doctor.');
  segments.isFull = true;
  expect(await ask('physician')).toMatchObject({
    mode: 'hybrid',
    hits: [{ path: 'memory/new.md' }],
    notStored: 'the disk is full',
  });
  segments.isFull = false;
  expect((await ask('physician')).notStored).toBeUndefined();
  const before = embedder.texts.length;
  await opened({ embedder, segments, files }).ask('cat');
  expect(embedder.texts.slice(before)).toEqual(['cat']);
});

test('nothing is paid twice because the store cannot be read', async () => {
  const [embedder, segments] = [testModel(), testStore()];
  segments.failure = new Error('the store is away');
  const answer = await opened({ embedder, segments }).ask('mèo');
  expect(answer).toMatchObject({ mode: 'text', whyText: 'the store is away' });
  expect(embedder.texts).toEqual(['mèo']);
});

test('after random edits every hit is in its file, and nothing is embedded twice', async () => {
  const [embedder, segments] = [testModel(), testStore()];
  const { files, ask } = opened({ embedder, segments });
  let state = 5;
  const next = (below: number) =>
    (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) % below;
  const words = ['cat', 'bill', 'coffee', 'doctor', 'blue', 'seven'];
  const line = () => `${words[next(6)]} ${words[next(6)]} ${next(50)}`;
  for (let step = 0; step < 300; step++) {
    const path = `memory/${next(12)}.md`;
    if (next(4) === 0) files.texts.delete(path);
    else files.put(path, Array.from({ length: 1 + next(3) }, line).join('\n\n'));
    const { hits, mode, left } = await ask(words[next(6)]!);
    expect({ mode, left }).toEqual({ mode: 'hybrid', left: [] });
    for (const hit of hits) expect(files.texts.get(hit.path)).toContain(hit.excerpt);
  }
});

test.each([1, 2, 3])('two processes that share a store lose no vector (seed %i)', async (seed) => {
  const next = randomOf(seed);
  const [embedder, segments] = [testModel(), testStore()];
  const { files } = opened();
  const both = [opened({ embedder, segments, files }), opened({ embedder, segments, files })];
  for (let step = 0; step < 150; step++) {
    const path = `memory/${Math.floor(next() * 30)}.md`;
    if (next() < 0.2) files.texts.delete(path);
    else files.put(path, `Number ${step} of the doctor.`);
    const asked = next() < 0.3 ? both : [both[Math.floor(next() * 2)]!];
    for (const { mode } of await Promise.all(asked.map(({ ask }) => ask('physician'))))
      expect(mode).toBe('hybrid');
  }
  // what both embedded at the same moment may be paid twice
  expect(segments.segments.size).toBeLessThan(40);
  const before = embedder.texts.length;
  const third = opened({ embedder, segments, files });
  expect(await third.ask('physician')).toMatchObject({ mode: 'hybrid' });
  expect(embedder.texts.slice(before)).toEqual(['physician']);
});

test('vectors are stored while others are still embedded, so a crash loses few', async () => {
  const files = heldFiles(Array.from({ length: 800 }, (_, n) => [`memory/${n}.md`, `note ${n}`]));
  const [embedder, segments] = [testModel(), testStore()];
  embedder.delayMs = 700;
  const asked = opened({ embedder, segments, files }).ask('cat');
  await eventually(() => expect(segments.segments.size).toBeGreaterThan(0));
  expect(embedder.texts.length).toBeLessThan(800);
  expect(await asked).toMatchObject({ mode: 'hybrid' });
  const before = embedder.texts.length;
  expect(await opened({ embedder, segments, files }).ask('dog')).toMatchObject({ mode: 'hybrid' });
  expect(embedder.texts.slice(before)).toEqual(['dog']);
});

test('bug: a line of 700,000 characters, and 50,000 equal chunks, took a minute together', async () => {
  const line = Array.from({ length: 100_000 }, (_, n) => `w${n}x`)
    .join(' ')
    .slice(0, 700_000);
  const long = opened({ files: heldFiles([['memory/a.md', line]]) });
  expect(await long.ask('w5x')).toMatchObject({ mode: 'hybrid' });
  const equal = opened({ files: heldFiles([['memory/a.md', '# a\nb\n'.repeat(50_000)]]) });
  expect(await equal.ask('kitten')).toMatchObject({ mode: 'hybrid', chunks: 50_000 });
  equal.files.texts.delete('memory/a.md');
  expect(await equal.ask('kitten')).toMatchObject({ chunks: 0 });
}, 20_000);

test('bug: a missing model counted as the refusal of a text, forever', async () => {
  const embedder = testModel();
  const { ask, files, find } = opened({ embedder });
  await ask('kitten');
  const gone = new TroupeError('NOT_FOUND', 'model not found', { retryAfterMs: 1 });
  embedder.failures.push(gone);
  files.put('memory/new.md', 'A doctor.');
  expect(await ask('kitten')).toMatchObject({ mode: 'text', whyText: 'model not found' });
  await eventually(async () => expect(await find('physician')).toEqual(['memory/new.md']));
});

test('bug: halves of a refused request began after the time limit', async () => {
  const files = heldFiles(Array.from({ length: 190 }, (_, n) => [`memory/${n}.md`, `note ${n}`]));
  const embedder = testModel();
  let requests = 0;
  embedder.delayMs = 20;
  embedder.refuses = (text) =>
    text.startsWith('note') && new TroupeError('INVALID_ARGUMENT', 'too long');
  const counted: Embedder = {
    ...embedder,
    embed(...args) {
      requests += 1;
      return embedder.embed(...args);
    },
  };
  await opened({ embedder: counted, files }).ask('cat', { embedMs: 100 });
  expect(requests).toBeLessThan(40);
});

test('bug: a question that the model refuses paused it for others', async () => {
  const embedder = testModel();
  const tooLong = new TroupeError('INVALID_ARGUMENT', 'too long: secret plan');
  embedder.refuses = (text) => text.startsWith('secret') && tooLong;
  const { ask } = opened({ embedder });
  const refused = { mode: 'text', whyText: 'the model refuses this question' };
  expect(await ask('secret plan')).toMatchObject(refused);
  expect(await ask('cat')).toMatchObject({ mode: 'hybrid' });
});

test('a model whose vectors have another length is never compared with the stored ones', async () => {
  const [before, segments] = [testModel(), testStore()];
  const { files } = opened();
  const running = opened({ embedder: before, segments, files });
  await running.ask('cat');
  const shorter = testModel();
  const halved: Embedder['embed'] = async (...args) => {
    const { vectors, usage } = await before.embed(...args);
    return { vectors: vectors.map((one) => one.slice(0, 32)), usage };
  };
  const { ask } = opened({ embedder: { ...shorter, embed: halved }, segments, files });
  for (let time = 0; time < 2; time++)
    expect(await ask('cat')).toMatchObject({
      mode: 'text',
      whyText: expect.stringMatching(/memory reset/),
    });
  // "troupe memory reset", then "troupe memory index" in another process
  segments.segments.clear();
  const later = opened({ embedder: { ...shorter, embed: halved }, segments, files });
  expect(await later.ask('kitten')).toMatchObject({ mode: 'hybrid' });
  const stored = [...segments.segments.keys()];
  files.put('memory/new.md', 'A doctor.');
  await running.ask('bill');
  for (const name of stored) expect(segments.segments.has(name)).toBe(true);
});

test('a search that waits for another one ends when it is aborted', async () => {
  const embedder = testModel();
  embedder.delayMs = 1_500;
  const { ask } = opened({ embedder });
  const first = ask('cat');
  let isFirstDone = false;
  void first.finally(() => (isFirstDone = true));
  const control = new AbortController();
  const reason = new Error('no longer needed');
  setTimeout(() => control.abort(reason), 20);
  await expect(ask('bill', { signal: control.signal })).rejects.toBe(reason);
  expect(isFirstDone).toBe(false);
  expect(await first).toMatchObject({ mode: 'hybrid' });
});

test('segments that another process merges while they are read are found', async () => {
  const [embedder, segments] = [testModel(), testStore()];
  const { files, ask } = opened({ embedder, segments });
  for (let n = 0; n < 16; n++) {
    files.put(`memory/n${n}.md`, `Number ${n}`);
    await ask('cat');
  }
  const list = segments.list.bind(segments);
  let isFirst = true;
  segments.list = async () => {
    const names = await list();
    if (isFirst) {
      isFirst = false;
      files.put('memory/last.md', 'Number 17');
      await ask('cat');
    }
    return names;
  };
  const count = embedder.texts.length;
  expect(await opened({ embedder, segments, files }).ask('cat')).toMatchObject({ mode: 'hybrid' });
  expect(embedder.texts.slice(count).toSorted()).toEqual(['Number 17', 'cat']);
});
