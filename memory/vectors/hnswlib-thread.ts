/**
 * The worker thread with a graph of hnswlib-node, for `VectorGraph`. The package has native code
 * and is optional: it is loaded only in the thread, and only where someone has installed it.
 */
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { GraphThread } from './graph.ts';

/** Neighbours of a vector in the graph, and candidates compared when it is added. */
const NEIGHBOURS = 16;
const COMPARED_TO_ADD = 100;
/** Candidates of a search, at least; more miss fewer vectors and take longer. */
const COMPARED_TO_FIND = 100;

/** It needs no file of its own, so it runs from the sources and from the bundle alike. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads');
const { path, dimensions, neighbours, comparedToAdd, comparedToFind } = workerData;
let { room } = workerData;
const { HierarchicalNSW } = require(path);
const graph = new HierarchicalNSW('ip', dimensions);
graph.initIndex(room, neighbours, comparedToAdd);

function change({ removed, added, vectors }) {
  for (const number of removed) graph.markDelete(number);
  for (const [at, number] of added.entries()) {
    if (graph.getCurrentCount() === room) graph.resizeIndex((room = Math.ceil(room * 1.25)));
    const vector = vectors.subarray(at * dimensions, (at + 1) * dimensions);
    graph.addPoint(Array.from(vector), number);
  }
}

function nearest({ query, count }) {
  graph.setEf(Math.max(comparedToFind, 2 * count));
  return graph.searchKnn(Array.from(query), Math.min(count, graph.getCurrentCount())).neighbors;
}

parentPort.on('message', ({ id, ...request }) => {
  try {
    const numbers = request.query ? nearest(request) : change(request);
    parentPort.postMessage({ id, numbers });
  } catch (error) {
    parentPort.postMessage({ id, failed: String(error && error.message) });
  }
});`;

type Request = Readonly<Record<string, unknown>>;
type Answer = { readonly id: number; readonly numbers?: number[]; readonly failed?: string };
type Waiting = {
  resolve(this: void, numbers: number[]): void;
  reject(this: void, why: Error): void;
};

/** Where the package is installed. @param from the file that looks for it */
export function hnswlibPath(from: string | URL = import.meta.url): string | undefined {
  try {
    return createRequire(from).resolve('hnswlib-node');
  } catch {
    return undefined;
  }
}

/** undefined: it is not installed */
export function openHnswlib(
  dimensions: number,
  room: number,
  path = hnswlibPath(),
): GraphThread | undefined {
  return path === undefined ? undefined : new HnswlibThread(dimensions, Math.max(1, room), path);
}

class HnswlibThread implements GraphThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #idNext = 0;
  #searches = 0;
  #ended: Error | undefined;

  constructor(dimensions: number, room: number, path: string) {
    this.#worker = new Worker(THREAD, {
      eval: true,
      workerData: {
        path,
        dimensions,
        room,
        neighbours: NEIGHBOURS,
        comparedToAdd: COMPARED_TO_ADD,
        comparedToFind: COMPARED_TO_FIND,
      },
      env: {},
      execArgv: [],
    });
    this.#worker.on('message', (answer: Answer) => this.#settle(answer));
    this.#worker.on('error', (error) => this.#end(error));
    this.#worker.on('exit', () => this.#end(new Error('the thread ended')));
    // The process may end while a graph is built.
    this.#worker.unref();
  }

  async change(
    removed: readonly number[],
    added: readonly number[],
    vectors: Float32Array<ArrayBuffer>,
  ): Promise<void> {
    await this.#request({ removed, added, vectors }, [vectors.buffer]);
  }

  /** The process does not end before the answer. */
  async nearest(query: Float32Array, count: number): Promise<readonly number[]> {
    this.#searches += 1;
    this.#worker.ref();
    try {
      return await this.#request({ query, count }, []);
    } finally {
      this.#searches -= 1;
      if (this.#searches === 0) this.#worker.unref();
    }
  }

  close(): void {
    void this.#worker.terminate();
  }

  #request(request: Request, transferred: readonly ArrayBuffer[]): Promise<number[]> {
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(this.#ended);
      const id = this.#idNext++;
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ ...request, id }, transferred);
    });
  }

  #settle({ id, numbers = [], failed }: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (failed === undefined) waiting?.resolve(numbers);
    else waiting?.reject(new Error(failed));
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }
}
