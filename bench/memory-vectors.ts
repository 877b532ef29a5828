/**
 * How long an agent needs to find notes by their meaning, without the time of the model: the
 * comparison of vectors alone, and whole searches over real files. A comparison of all vectors as
 * float32 in JavaScript is exact, and takes the time that no index has to beat. With `--peers` also
 * the graph of hnswlib-node in its thread, and other libraries, which have the vectors in memory.
 *
 * Vectors of 384 components are in clusters of unequal size, as those of texts are.
 */
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSecretMask } from '../agent/tools/secret-mask.ts';
import { WorkspaceNotes } from '../agent/tools/memory/workspace-notes.ts';
import { type Embedder, MemoryIndex, openHnswlib, type SegmentStore } from '../memory/index.ts';
import { Pace } from '../memory/pace.ts';
import { VectorGraph } from '../memory/vectors/graph.ts';
import { keyOf } from '../memory/vectors/segment.ts';
import { rowOf, VectorRows } from '../memory/vectors/vector-rows.ts';
import { randomOf } from '../test/random.ts';
import { idleMbOf } from './memory-idle.ts';
import { Notes } from './memory-notes.ts';
import { defineScenario } from './harness/scenario.ts';
import { median, percentile } from './harness/statistics.ts';
import { pathOf } from './peers/installed.ts';
import { hnswlib, sqliteVec, usearch, type VectorPeer } from './peers/vectors.ts';

const DIMENSIONS = 384;
const LATENT = 48;
const SPREAD = 0.6;
const NOISE = 0.35;
const NEAREST = 10;
const RESULTS = 6;
/** They are looked for in every file that is read. */
const SECRETS = createSecretMask(['a token of the gateway', 'a key of a provider']);

export const memoryVectors = defineScenario({
  name: 'memory-vectors',
  question:
    'how long does an agent take to find a note by its meaning, once the model has answered?',
  secondsMax: 900,
  figures: {
    nearestMs: { label: 'nearest 10 of 100,000 vectors', unit: 'ms', limit: 'peerMs' },
    nearestP99Ms: { label: '  p99', unit: 'ms', limit: 'peerMs' },
    peerMs: { label: '  all compared as float32 in JavaScript', unit: 'ms' },
    recall: { label: '  share of the exact ten that are found', unit: 'ratio' },
    graphMs: { label: '  by a graph in a thread', unit: 'ms', needs: 'hnswlib-node' },
    graphP99Ms: { label: '    p99', unit: 'ms', needs: 'hnswlib-node' },
    graphRecall: { label: '    share that is found', unit: 'ratio', needs: 'hnswlib-node' },
    graphSeconds: { label: '    to build it', unit: 's', needs: 'hnswlib-node' },
    graphMb: { label: '    its memory', unit: 'MB', needs: 'hnswlib-node' },
    graphPauseMs: {
      label: '    longest time without a turn for others meanwhile',
      unit: 'ms',
      needs: 'hnswlib-node',
    },
    hnswlibMs: { label: '  hnswlib-node itself', unit: 'ms', needs: 'hnswlib-node' },
    hnswlibRecall: { label: '    share that is found', unit: 'ratio', needs: 'hnswlib-node' },
    usearchMs: { label: '  usearch', unit: 'ms', needs: 'usearch' },
    usearchRecall: { label: '    share that is found', unit: 'ratio', needs: 'usearch' },
    sqliteVecMs: { label: '  sqlite-vec', unit: 'ms', needs: 'sqlite-vec' },
    sqliteVecRecall: { label: '    share that is found', unit: 'ratio', needs: 'sqlite-vec' },
    hybridMs: { label: 'six notes of 100,000 chunks, by words and meaning', unit: 'ms' },
    hybridP99Ms: { label: '  p99', unit: 'ms' },
    wordsMs: { label: '  by words alone', unit: 'ms' },
    firstMs: { label: 'first search of a process, 10,000 stored vectors', unit: 'ms' },
    pauseMs: { label: '  longest time without a turn for others', unit: 'ms' },
    chunkBytes: { label: 'stored bytes of a chunk', unit: 'bytes' },
    idleMb: { label: 'private memory of 10,000 chunks with vectors, idle', unit: 'MB' },
  },
  async measure({ folder, pick }) {
    const idleMb = await idleMbOf(folder, pick(10_000, 10_000, 100), modelOf);
    const nearest = await comparedRows(pick(100_000, 20_000, 500), pick(200, 50, 3));
    const large = new Notes(join(folder, 'large'), pick(100_000, 10_000, 400));
    const asked = pick(200, 50, 3);
    const hybrid = await searches(large, asked, { embedder: modelOf(large) });
    const words = await searches(large, asked, {});
    const small = new Notes(join(folder, 'small'), pick(10_000, 5_000, 200));
    const segments = segmentsInMemory();
    await searches(small, 1, { embedder: modelOf(small), segments });
    const again = await searches(small, 1, { embedder: modelOf(small), segments });
    const stored = [...segments.bytes.values()].reduce((sum, { length }) => sum + length, 0);
    return {
      ...nearest,
      hybridMs: median(hybrid.samples),
      hybridP99Ms: percentile(hybrid.samples, 0.99),
      wordsMs: median(words.samples),
      firstMs: again.firstMs,
      pauseMs: again.pauseMs,
      chunkBytes: stored / small.chunks.length,
      idleMb,
    };
  },
});

const all = () => true;

type Search = (query: Float32Array) => Promise<readonly number[]> | readonly number[];
type Asked = { readonly query: Float32Array; readonly exact: ReadonlySet<number> };

/** The first questions warm up. */
const WARM = 10;

async function comparedRows(count: number, times: number) {
  const next = randomOf(count);
  const draw = clusters(next, Math.round(Math.sqrt(count)));
  const vectors = Array.from({ length: count }, () => draw());
  const rows = new VectorRows(DIMENSIONS);
  for (const [at, vector] of vectors.entries()) rows.put(String(at), rowOf(vector));
  const peer: number[] = [];
  const asked = Array.from({ length: times + WARM }, (): Asked => {
    const query = draw();
    const begun = performance.now();
    const exact = exactly(vectors, query);
    peer.push(performance.now() - begun);
    return { query, exact };
  });
  const own = await measured(asked, async (query) =>
    numbersOf(await rows.nearest(query, NEAREST, all, new Pace())),
  );
  return {
    nearestMs: own.ms,
    nearestP99Ms: own.p99Ms,
    peerMs: median(peer.slice(WARM)),
    recall: own.recall,
    ...(await ofGraph(rows, asked)),
    ...(await ofPeers(vectors, asked)),
  };
}

const numbersOf = (best: readonly { readonly id: string }[] = []) =>
  best.map(({ id }) => Number(id));

async function measured(asked: readonly Asked[], search: Search) {
  const samples: number[] = [];
  let found = 0;
  for (const [at, { query, exact }] of asked.entries()) {
    const begun = performance.now();
    const nearest = await search(query);
    if (at < WARM) continue;
    samples.push(performance.now() - begun);
    found += nearest.filter((number) => exact.has(number)).length;
  }
  return {
    ms: median(samples),
    p99Ms: percentile(samples, 0.99),
    recall: found / (samples.length * NEAREST),
  };
}

async function ofGraph(rows: VectorRows, asked: readonly Asked[]) {
  const path = pathOf('hnswlib-node');
  if (path === undefined) return undefined;
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const begun = performance.now();
  const graph = new VectorGraph(rows, (dimensions, room) => openHnswlib(dimensions, room, path));
  while (graph.state.status === 'building') await sleep(10);
  const graphSeconds = (performance.now() - begun) / 1_000;
  delay.disable();
  if (graph.state.status === 'off') throw new Error(`the graph is off: ${graph.state.why}`);
  const graphMb = (process.memoryUsage.rss() - before) / 1e6;
  const { ms, p99Ms, recall } = await measured(asked, async (query) =>
    numbersOf(await graph.nearest(query, NEAREST, all)),
  );
  graph.close();
  return {
    graphMs: ms,
    graphP99Ms: p99Ms,
    graphRecall: recall,
    graphSeconds,
    graphMb,
    graphPauseMs: delay.max / 1e6,
  };
}

async function ofPeers(vectors: readonly Float32Array[], asked: readonly Asked[]) {
  const of = async (open: (all: readonly Float32Array[]) => VectorPeer | undefined) => {
    const peer = open(vectors);
    return peer && measured(asked, (query) => peer(query, NEAREST));
  };
  const [ofHnswlib, ofUsearch] = [await of(hnswlib), await of(usearch)];
  const ofSqliteVec = await of(sqliteVec);
  return {
    hnswlibMs: ofHnswlib?.ms,
    hnswlibRecall: ofHnswlib?.recall,
    usearchMs: ofUsearch?.ms,
    usearchRecall: ofUsearch?.recall,
    sqliteVecMs: ofSqliteVec?.ms,
    sqliteVecRecall: ofSqliteVec?.recall,
  };
}

/** The vectors are of length 1. */
function exactly(vectors: readonly Float32Array[], query: Float32Array): ReadonlySet<number> {
  const scores = new Float32Array(vectors.length);
  for (let at = 0; at < vectors.length; at++) {
    const vector = vectors[at]!;
    let sum = 0;
    for (let d = 0; d < DIMENSIONS; d++) sum += vector[d]! * query[d]!;
    scores[at] = sum;
  }
  const least = scores.toSorted().at(-NEAREST)!;
  return new Set([...vectors.keys()].filter((at) => scores[at]! >= least));
}

async function searches(
  notes: Notes,
  times: number,
  options: { embedder?: Embedder; segments?: SegmentStore },
) {
  const index = new MemoryIndex(options);
  const files = new WorkspaceNotes(notes.root, SECRETS);
  const search = async (at: number) => {
    const query = notes.questions[at % notes.questions.length]!;
    const question = { query, maxResults: RESULTS, minScore: 0, embedMs: 120_000 };
    const begun = performance.now();
    const { hits, mode } = await index.search(files, question);
    if (hits.length !== RESULTS || mode !== (options.embedder ? 'hybrid' : 'text'))
      throw new Error(`${hits.length} hits, mode ${mode}`);
    return performance.now() - begun;
  };
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const firstMs = await search(0);
  delay.disable();
  const samples: number[] = [];
  // the model has answered each question once
  for (let at = 0; at < 100; at++) await search(at);
  for (let at = 0; at < times; at++) samples.push(await search(at % 100));
  return { firstMs, pauseMs: delay.max / 1e6, samples };
}

/** Its vectors depend on the text alone. */
function modelOf({ chunks }: Notes): Embedder {
  const draw = clusters(randomOf(chunks.length), Math.round(Math.sqrt(chunks.length)));
  return {
    name: 'bench/clusters',
    identity: 'clusters',
    async embed(texts) {
      const seed = (text: string) => Buffer.from(keyOf(text), 'base64url').readUInt32LE(0);
      const vectors = texts.map((text) => draw(randomOf(seed(text))));
      return { vectors, usage: { inputTokens: 0, outputTokens: 0 } };
    },
  };
}

function segmentsInMemory(): SegmentStore & { readonly bytes: Map<string, Uint8Array> } {
  const bytes = new Map<string, Uint8Array>();
  return {
    bytes,
    list: async () => [...bytes.keys()].sort(),
    read: async (name) => bytes.get(name),
    write: async (name, segment) => void bytes.set(name, segment),
    remove: async (name) => void bytes.delete(name),
  };
}

/** Draws vectors of length 1 around the centres of clusters, from a space of fewer components. */
function clusters(next: () => number, count: number) {
  const normal = (own: () => number) =>
    Math.sqrt(-2 * Math.log(1 - own())) * Math.cos(2 * Math.PI * own());
  const several = (length: number, own: () => number) =>
    Float32Array.from({ length }, () => normal(own));
  const centres = Array.from({ length: count }, () => several(LATENT, next));
  const projection = Array.from({ length: DIMENSIONS }, () => several(LATENT, next));
  return (draw = next): Float32Array => {
    const centre = centres[Math.floor(draw() ** 2 * count)]!;
    const point = centre.map((component) => component + SPREAD * normal(draw));
    const vector = Float32Array.from(projection, (weights) => {
      let sum = NOISE * normal(draw) * Math.sqrt(LATENT);
      for (let d = 0; d < LATENT; d++) sum += weights[d]! * point[d]!;
      return sum;
    });
    const length = Math.hypot(...vector);
    return vector.map((component) => component / length);
  };
}
