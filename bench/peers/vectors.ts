/** Vector indexes of others, with the settings of troupe's graph where they have a graph. */
import { installed } from './installed.ts';
import type { Database } from './sqlite.ts';

/** Numbers of vectors, best first; the number is the place in the list. */
export type VectorPeer = (query: Float32Array, count: number) => readonly number[];

const NEIGHBOURS = 16;
const COMPARED = 100;

/** Compares all vectors. undefined: it or better-sqlite3 is not installed */
export function sqliteVec(vectors: readonly Float32Array[]): VectorPeer | undefined {
  const Sqlite = installed<Database>('better-sqlite3');
  const extension = installed<{ load(database: object): void }>('sqlite-vec');
  if (Sqlite === undefined || extension === undefined) return undefined;
  const database = new Sqlite(':memory:');
  extension.load(database);
  const dimensions = vectors[0]!.length;
  database.exec(
    `CREATE VIRTUAL TABLE vectors USING vec0(vector float[${dimensions}] distance_metric=cosine)`,
  );
  const insert = database.prepare('INSERT INTO vectors (rowid, vector) VALUES (?, ?)');
  database.transaction(() => {
    for (const [at, vector] of vectors.entries()) insert.run(BigInt(at), vector);
  })();
  const select = database.prepare(
    'SELECT rowid FROM vectors WHERE vector MATCH ? AND k = ? ORDER BY distance',
  );
  return (query, count) => select.all(query, count).map(({ rowid }) => rowid);
}

type HnswGraph = {
  initIndex(room: number, neighbours: number, compared: number): void;
  addPoint(vector: readonly number[], number: number): void;
  setEf(compared: number): void;
  searchKnn(query: readonly number[], count: number): { readonly neighbors: readonly number[] };
};

export function hnswlib(vectors: readonly Float32Array[]): VectorPeer | undefined {
  const { HierarchicalNSW } =
    installed<{ HierarchicalNSW: new (space: 'ip', dimensions: number) => HnswGraph }>(
      'hnswlib-node',
    ) ?? {};
  if (HierarchicalNSW === undefined) return undefined;
  const graph = new HierarchicalNSW('ip', vectors[0]!.length);
  graph.initIndex(vectors.length, NEIGHBOURS, COMPARED);
  for (const [at, vector] of vectors.entries()) graph.addPoint(Array.from(vector), at);
  graph.setEf(COMPARED);
  return (query, count) => graph.searchKnn(Array.from(query), count).neighbors;
}

type UsearchIndex = {
  add(number: bigint, vector: Float32Array, threads: number): void;
  search(query: Float32Array, count: number, threads: number): { readonly keys: BigUint64Array };
};

export function usearch(vectors: readonly Float32Array[]): VectorPeer | undefined {
  const { Index } =
    installed<{ Index: new (settings: Readonly<Record<string, unknown>>) => UsearchIndex }>(
      'usearch',
    ) ?? {};
  if (Index === undefined) return undefined;
  const index = new Index({
    metric: 'ip',
    dimensions: vectors[0]!.length,
    quantization: 'f32',
    connectivity: NEIGHBOURS,
    expansion_add: COMPARED,
    expansion_search: COMPARED,
    multi: false,
  });
  for (const [at, vector] of vectors.entries()) index.add(BigInt(at), vector, 1);
  return (query, count) => Array.from(index.search(query, count, 1).keys, Number);
}
