/**
 * The graph of vectors. Most tests have a thread that is exact or that fails in a certain way; the
 * ones with hnswlib-node need that package, in node_modules or in the folder TROUPE_PEERS.
 */
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { MemoryIndexes } from '../../../agent/tools/memory/memory-indexes.ts';
import { MemoryIndex } from '../../../memory/index.ts';
import { Pace } from '../../../memory/pace.ts';
import { type GraphThread, type OpenGraph, VectorGraph } from '../../../memory/vectors/graph.ts';
import { hnswlibPath, openHnswlib } from '../../../memory/vectors/hnswlib-thread.ts';
import { rowOf, VectorRows } from '../../../memory/vectors/vector-rows.ts';
import { eventually } from '../../runtime/eventually.ts';
import { randomOf } from '../../random.ts';
import { heldFiles } from '../held-files.ts';
import { testModel } from './model.ts';
import { vectorOf } from './vector-of.ts';

const DIMENSIONS = 24;
const all = () => true;

type TestThread = GraphThread & {
  readonly held: Map<number, Float32Array>;
  searches: number;
  isClosed: boolean;
  /** what an exact search has found, changed */
  proposes: (numbers: readonly number[]) => readonly number[];
  /** called before each change */
  onChange: () => Promise<void>;
};

function testThread(): TestThread {
  const held = new Map<number, Float32Array>();
  const thread: TestThread = {
    held,
    searches: 0,
    isClosed: false,
    proposes: (numbers) => numbers,
    async onChange() {},
    async change(removed, added, vectors) {
      await thread.onChange();
      for (const number of removed) expect(held.delete(number)).toBe(true);
      const length = vectors.length / added.length;
      for (const [at, number] of added.entries())
        held.set(number, vectors.slice(at * length, (at + 1) * length));
    },
    async nearest(query, count) {
      thread.searches += 1;
      const scored = [...held].map(([number, vector]) => ({
        number,
        score: vector.reduce((sum, component, at) => sum + component * query[at]!, 0),
      }));
      const best = scored.sort((a, b) => b.score - a.score).slice(0, count);
      return thread.proposes(best.map(({ number }) => number));
    },
    close: () => void (thread.isClosed = true),
  };
  return thread;
}

function rowsWith(count: number, next = randomOf(count)): VectorRows {
  const rows = new VectorRows(DIMENSIONS);
  for (let n = 0; n < count; n++) rows.put(`key ${n}`, rowOf(vectorOf(next, DIMENSIONS)));
  return rows;
}

const isReady = (graph: VectorGraph) =>
  eventually(() => expect(graph.state).toEqual({ status: 'ready' }));

/** A graph of an exact thread, complete. */
async function built(rows: VectorRows) {
  const threads: TestThread[] = [];
  const open = () => {
    threads.push(testThread());
    return threads.at(-1)!;
  };
  const graph = new VectorGraph(rows, open);
  await isReady(graph);
  return { graph, threads, thread: threads[0]! };
}

/** Changes rows and searches at random; returns the share of the nearest rows that are found. */
async function searchedAtRandom(open: OpenGraph, count: number, steps: number): Promise<number> {
  const next = randomOf(count);
  const rows = rowsWith(count, next);
  const graph = new VectorGraph(rows, open);
  const deleted = new Set<string>();
  let [wanted, found] = [0, 0];
  for (let step = 0; step < steps; step++) {
    for (let change = 0; change < 20; change++) {
      const key = `key ${Math.floor(next() * count * 1.2)}`;
      if (next() < 0.5) {
        rows.delete(key);
        deleted.add(key);
      } else {
        rows.put(key, rowOf(vectorOf(next, DIMENSIONS)));
        deleted.delete(key);
      }
    }
    const query = vectorOf(next, DIMENSIONS);
    const allows = (key: string) => step % 3 > 0 || !key.endsWith('7');
    const exact = await rows.nearest(query, 10, allows, new Pace());
    const best = await eventually(async () => {
      const answer = await graph.nearest(query, 10, allows);
      return answer ?? expect.fail(JSON.stringify(graph.state));
    });
    expect(best).toHaveLength(10);
    for (const { id, score } of best) {
      expect(deleted.has(id)).toBe(false);
      expect(allows(id)).toBe(true);
      expect(score).toBe(rows.cosine(id, query));
    }
    expect(best.map(({ score }) => score)).toEqual(
      best.map(({ score }) => score).sort((a, b) => b - a),
    );
    wanted += exact.length;
    found += best.filter(({ score }) => score >= exact.at(-1)!.score).length;
  }
  expect(graph.state).toEqual({ status: 'ready' });
  graph.close();
  return found / wanted;
}

test('its answers are those of an exact search, whatever is added, replaced and deleted', async () => {
  expect(await searchedAtRandom(testThread, 400, 40)).toBe(1);
});

describe('hnswlib-node', () => {
  const from = join(process.env['TROUPE_PEERS'] ?? import.meta.dirname, 'package.json');
  const path = hnswlibPath(from);
  const open: OpenGraph = (dimensions, room) => openHnswlib(dimensions, room, path);
  beforeEach((context) =>
    context.skip(path === undefined, 'hnswlib-node is not installed: see CONTRIBUTING.md'),
  );

  test('misses few, whatever is added, replaced and deleted, and more than it had room for', async () => {
    expect(await searchedAtRandom(open, 3_000, 40)).toBeGreaterThan(0.98);
  });

  test('a thread that ends, or fails, is not used again', async () => {
    const threads: GraphThread[] = [];
    const graph = new VectorGraph(rowsWith(300), (dimensions, room) => {
      threads.push(open(dimensions, room)!);
      return threads[0];
    });
    await isReady(graph);
    threads[0]!.close();
    await eventually(async () => {
      expect(await graph.nearest(new Float32Array(DIMENSIONS).fill(1), 3, all)).toBeUndefined();
      expect(graph.state).toEqual({ status: 'off', why: 'Error: the thread ended' });
    });
    const wrong = openHnswlib(DIMENSIONS, 1, join(import.meta.dirname, 'is-not-there.cjs'))!;
    await expect(wrong.nearest(new Float32Array(DIMENSIONS), 1)).rejects.toThrow('is-not-there');
    const failing = open(DIMENSIONS, 1)!;
    await expect(failing.change([7], [], new Float32Array())).rejects.toThrow(/label/i);
    failing.close();
  });
});

test('until it has every vector it does not answer', async () => {
  const rows = rowsWith(300);
  const { graph, thread } = await built(rows);
  const query = vectorOf(randomOf(1), DIMENSIONS);
  expect(await graph.nearest(query, 5, all)).toHaveLength(5);
  let release = () => {};
  thread.onChange = () => new Promise((resolve) => (release = resolve));
  rows.put('new', rowOf(query));
  expect(await graph.nearest(query, 5, all)).toBeUndefined();
  release();
  await eventually(async () =>
    expect((await graph.nearest(query, 5, all))?.[0]).toMatchObject({ id: 'new' }),
  );
});

test('a change during a search makes the answer void', async () => {
  const rows = rowsWith(300);
  const { graph } = await built(rows);
  const searching = graph.nearest(vectorOf(randomOf(1), DIMENSIONS), 5, all);
  rows.put('new', rowOf(vectorOf(randomOf(2), DIMENSIONS)));
  expect(await searching).toBeUndefined();
});

test('it does not answer when too few of what it proposes are allowed', async () => {
  const { graph } = await built(rowsWith(300));
  const query = vectorOf(randomOf(1), DIMENSIONS);
  expect(await graph.nearest(query, 5, (key) => key === 'key 7')).toBeUndefined();
  expect(await graph.nearest(query, 301, all)).toBeUndefined();
});

test.for<[string, TestThread['proposes']]>([
  ['unknown numbers', () => [-1, 1e9, Number.NaN, 2 ** 31]],
  ['the same number each time', ([first = 0]) => Array.from({ length: 30 }, () => first)],
  ['nothing', () => []],
  ['others than the nearest', (numbers) => numbers.map((number) => 299 - number)],
  ['deleted ones, too', (numbers) => [0, 1, 2, ...numbers]],
])('a damaged graph that proposes %s gives no wrong answer', async ([, proposes]) => {
  const rows = rowsWith(300);
  const { graph, thread } = await built(rows);
  for (const n of [0, 1, 2]) rows.delete(`key ${n}`);
  const query = vectorOf(randomOf(1), DIMENSIONS);
  await eventually(async () => expect(await graph.nearest(query, 5, all)).toBeDefined());
  thread.proposes = proposes;
  const best = (await graph.nearest(query, 5, all)) ?? [];
  expect(new Set(best.map(({ id }) => id)).size).toBe(best.length);
  for (const { id, score } of best) {
    expect(['key 0', 'key 1', 'key 2']).not.toContain(id);
    expect(score).toBe(rows.cosine(id, query));
  }
});

test('a graph that misses many vectors of a sample is not used', async () => {
  const thread = testThread();
  thread.proposes = (numbers) => numbers.slice(3);
  const graph = new VectorGraph(rowsWith(300), () => thread);
  await eventually(() =>
    expect(graph.state).toEqual({ status: 'off', why: 'it finds 70 % of the nearest vectors' }),
  );
  expect(thread.isClosed).toBe(true);
});

test('after an error, when it is closed, or when nothing is installed it is off', async () => {
  const query = vectorOf(randomOf(1), DIMENSIONS);
  const rows = rowsWith(300);
  const none = new VectorGraph(rows, () => undefined);
  expect(none.state).toEqual({ status: 'off', why: 'hnswlib-node is not installed' });
  expect(await none.nearest(query, 5, all)).toBeUndefined();
  rows.put('new', rowOf(query));

  const { graph: broken, thread } = await built(rowsWith(300));
  thread.proposes = () => {
    throw new Error('no memory');
  };
  expect(await broken.nearest(query, 5, all)).toBeUndefined();
  expect(broken.state).toEqual({ status: 'off', why: 'Error: no memory' });
  broken.rows.put('new', rowOf(query));
  expect(thread.held.size).toBe(300);

  const { graph: closed, thread: ended } = await built(rowsWith(300));
  closed.close();
  expect(await closed.nearest(query, 5, all)).toBeUndefined();
  expect(ended.isClosed).toBe(true);
});

test('a failure while it is built turns it off', async () => {
  const thread = testThread();
  thread.onChange = () => Promise.reject(new Error('no memory'));
  const graph = new VectorGraph(rowsWith(300), () => thread);
  await eventually(() => expect(graph.state).toEqual({ status: 'off', why: 'Error: no memory' }));
  expect(thread.isClosed).toBe(true);
});

test('with many removed vectors it is built again', async () => {
  const rows = rowsWith(2_000);
  const { graph, threads } = await built(rows);
  for (let n = 0; n < 1_500; n++) rows.delete(`key ${n}`);
  const query = vectorOf(randomOf(1), DIMENSIONS);
  await eventually(async () => expect(await graph.nearest(query, 5, all)).toHaveLength(5));
  expect(threads.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  expect(threads[1]!.held.size).toBe(500);
});

describe('the index of notes', () => {
  const NOTES: readonly (readonly [string, string])[] = [
    ['MEMORY.md', 'The kitten is a secret.'],
    ...Array.from({ length: 60 }, (_, n) => [`memory/${n}.md`, `A cat with number ${n}`] as const),
    ['memory/bill.md', 'The invoice of March is paid.'],
  ];
  const question = { query: '猫', maxResults: 3, minScore: 0.3 };

  test('finds by the graph what is allowed and exists', async () => {
    const thread = testThread();
    const files = heldFiles(NOTES);
    const index = new MemoryIndex({
      embedder: testModel(),
      graph: () => thread,
      graphRowsMin: 10,
    });
    const search = async () => {
      const allows = (path: string) => path !== 'MEMORY.md';
      return (await index.search(files, { ...question, allows })).hits.map(({ path }) => path);
    };
    const first = await search();
    await eventually(() => expect(index.graph).toEqual({ status: 'ready' }));
    const sampled = thread.searches;
    expect(await search()).toEqual(first);
    expect(thread.searches).toBe(sampled + 1);
    files.texts.delete(first[0]!);
    const later = await search();
    expect(later).toHaveLength(3);
    expect(later).not.toContain(first[0]);
    expect(later).not.toContain('MEMORY.md');
    index.close();
    expect(thread.isClosed).toBe(true);
    expect(await search()).toEqual(later);
  });

  test('has no graph of few vectors, or where none is wanted', async () => {
    const few = new MemoryIndex({ embedder: testModel(), graph: testThread });
    const exact = new MemoryIndex({ embedder: testModel(), graphRowsMin: 10 });
    for (const index of [few, exact]) {
      await index.search(heldFiles(NOTES), question);
      expect(index.graph).toBeUndefined();
    }
    expect(new MemoryIndexes().counts.graphs).toBe(0);
  });
});
