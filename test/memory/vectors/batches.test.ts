/** Vectors that a batch of the provider makes: who waits for them, and how they are stored. */
import { expect, test } from 'vitest';
import {
  type BatchAnswer,
  MemoryIndex,
  removeAwaited,
  storeAnswers,
  writeAwaited,
} from '../../../memory/index.ts';
import { meaningOf } from '../../servers/embedding-server.ts';
import { heldFiles } from '../held-files.ts';
import { testModel, testStore } from './model.ts';

const CAT = 'Con mèo tên là Miu.';
const BILL = 'The invoice is paid.';
const NOTES: readonly (readonly [string, string])[] = [
  ['memory/pet.md', CAT],
  ['memory/bill.md', BILL],
];

function opened(notes = NOTES, embedder = testModel(), segments = testStore()) {
  const files = heldFiles(notes);
  const open = () => new MemoryIndex({ embedder, segments });
  const index = open();
  const ask = (query: string) => index.search(files, { query, maxResults: 3, minScore: 0.3 });
  return { embedder, segments, files, index, open, ask };
}
type Opened = ReturnType<typeof opened>;

async function awaiting({ index, files, segments, embedder }: Opened) {
  const { texts } = await index.withoutVector(files, 100);
  await writeAwaited(segments, embedder.identity, [...texts.keys()]);
  return texts;
}
async function* answersTo(texts: ReadonlyMap<string, string>): AsyncGenerator<BatchAnswer> {
  for (const [key, text] of texts)
    yield { key, vector: Float32Array.from(meaningOf(text)), inputTokens: 5 };
}

test('texts of a batch are left to it, and others are embedded at once', async () => {
  const notes = opened();
  const texts = await awaiting(notes);
  expect([...texts.values()]).toEqual([CAT, BILL]);
  notes.files.put('memory/new.md', 'Two weeks of vacation.');
  expect(await notes.ask('cat')).toMatchObject({
    mode: 'text',
    missing: 2,
    whyText: expect.stringMatching(/^2 chunks wait for a batch/),
  });
  expect(notes.embedder.texts).toEqual(['cat', 'Two weeks of vacation.']);
  const { segments, embedder } = notes;
  const stored = await storeAnswers(segments, embedder.identity, answersTo(texts));
  expect(stored).toEqual({ stored: 2, inputTokens: 10 });
  await removeAwaited(segments);
  expect(await notes.ask('cat')).toMatchObject({ mode: 'hybrid', hits: [{ path: NOTES[0]![0] }] });
  expect(embedder.texts).toHaveLength(2);
});

test('a text whose answer is missing is embedded by the next search', async () => {
  const notes = opened();
  const [first] = await awaiting(notes);
  await storeAnswers(notes.segments, notes.embedder.identity, answersTo(new Map([first!])));
  await removeAwaited(notes.segments);
  expect(await notes.ask('cat')).toMatchObject({ mode: 'hybrid' });
  expect(notes.embedder.texts).toEqual(['cat', BILL]);
});

test('answers that are stored again add nothing, and count the same tokens', async () => {
  const notes = opened();
  const texts = await awaiting(notes);
  const { segments, embedder } = notes;
  const first = await storeAnswers(segments, embedder.identity, answersTo(texts));
  const names = [...segments.segments.keys()];
  expect(await storeAnswers(segments, embedder.identity, answersTo(texts))).toEqual(first);
  expect([...segments.segments.keys()]).toEqual(names);
});

test('what was read until a connection broke stays, and the rest follows', async () => {
  const many = Array.from({ length: 1_500 }, (_, n) => [`memory/${n}.md`, `Note ${n}`] as const);
  const notes = opened(many);
  const { index, files, segments, embedder } = notes;
  const { texts, missing } = await index.withoutVector(files, 1_200);
  expect([texts.size, missing]).toEqual([1_200, 1_500]);
  await writeAwaited(segments, embedder.identity, [...texts.keys()]);
  async function* cut(): AsyncGenerator<BatchAnswer> {
    let left = 1_100;
    for await (const one of answersTo(texts)) {
      if (left-- === 0) throw new Error('cut');
      yield one;
    }
  }
  await expect(storeAnswers(segments, embedder.identity, cut())).rejects.toThrow('cut');
  expect((await notes.open().withoutVector(files, 0)).missing).toBe(500);
  await storeAnswers(segments, embedder.identity, answersTo(texts));
  expect((await notes.open().withoutVector(files, 0)).missing).toBe(300);
});

test('bug: one answer of another length at first would refuse all others', async () => {
  const notes = opened([...NOTES, ['memory/trip.md', 'Vacation in Huế.']]);
  const texts = await awaiting(notes);
  const wrong = [...texts.keys()][0]!;
  async function* answers(): AsyncGenerator<BatchAnswer> {
    for await (const one of answersTo(texts))
      yield one.key === wrong ? { ...one, vector: Float32Array.of(1, 2, 3) } : one;
    yield { key: 'of-another-batch', vector: Float32Array.of(1), inputTokens: 0 };
  }
  const { segments, embedder } = notes;
  const { stored } = await storeAnswers(segments, embedder.identity, answers());
  expect(stored).toBe(2);
  await removeAwaited(segments);
  expect(await notes.ask('cat')).toMatchObject({ mode: 'hybrid' });
  expect(embedder.texts).toEqual(['cat', CAT]);
});

test('bug: a complete model would remove the vectors of a batch for another model', async () => {
  const old = opened();
  await old.ask('cat');
  const next = opened(NOTES, testModel('next model'), old.segments);
  const texts = await awaiting(next);
  const [first, second] = [...texts];
  const { segments } = next;
  await storeAnswers(segments, 'next model', answersTo(new Map([first!])));
  expect(await opened(NOTES, testModel(), segments).ask('cat')).toMatchObject({ mode: 'hybrid' });
  await storeAnswers(segments, 'next model', answersTo(new Map([second!])));
  await removeAwaited(segments);
  expect(await next.ask('cat')).toMatchObject({ mode: 'hybrid' });
  expect(next.embedder.texts).toEqual(['cat']);
  const models = [...segments.segments.keys()].map((name) => name.split('/')[0]);
  expect(new Set(models).size, 'the vectors of the former model are removed').toBe(1);
});

test('after a reset a batch stores nothing', async () => {
  const notes = opened();
  const texts = await awaiting(notes);
  const { segments, embedder } = notes;
  segments.segments.clear();
  const stored = await storeAnswers(segments, embedder.identity, answersTo(texts));
  expect(stored).toEqual({ stored: 0, inputTokens: 10 });
  expect(segments.segments.size).toBe(0);
});

test('a damaged list of awaited texts keeps nothing waiting', async () => {
  const notes = opened();
  await awaiting(notes);
  const [name] = notes.segments.segments.keys();
  notes.segments.segments.set(name!, Uint8Array.of(1, 2));
  expect(await notes.ask('cat')).toMatchObject({ mode: 'hybrid' });
});
