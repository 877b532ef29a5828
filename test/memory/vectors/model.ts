/** An embedder in the process, with the meanings of the local server, and a store of segments. */
import type { Embedder, SegmentStore } from '../../../memory/index.ts';
import { meaningOf } from '../../servers/embedding-server.ts';

export type TestModel = Embedder & {
  /** texts that were embedded, in order */
  readonly texts: string[];
  /** thrown by the next requests */
  readonly failures: unknown[];
  refuses: (text: string) => unknown;
  delayMs: number;
};

export function testModel(identity = 'test model'): TestModel {
  const model: TestModel = {
    name: `test/${identity}`,
    identity,
    texts: [],
    failures: [],
    refuses: () => undefined,
    delayMs: 0,
    async embed(texts) {
      if (model.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, model.delayMs));
      const failure = model.failures.shift() ?? texts.map(model.refuses).find(Boolean);
      if (failure !== undefined) throw failure;
      model.texts.push(...texts);
      const vectors = texts.map((text) => Float32Array.from(meaningOf(text)));
      return { vectors, usage: { inputTokens: texts.length, outputTokens: 0, costUsd: 0.001 } };
    },
  };
  return model;
}

export type TestStore = SegmentStore & {
  readonly segments: Map<string, Uint8Array>;
  failure: unknown;
  isFull: boolean;
};

export function testStore(): TestStore {
  const segments = new Map<string, Uint8Array>();
  const attempt = () => {
    if (store.failure !== undefined) throw store.failure;
  };
  const store: TestStore = {
    segments,
    failure: undefined,
    isFull: false,
    async list() {
      attempt();
      return [...segments.keys()].sort();
    },
    async read(name) {
      attempt();
      return segments.get(name);
    },
    async write(name, bytes) {
      attempt();
      if (store.isFull) throw new Error('the disk is full');
      segments.set(name, Uint8Array.from(bytes));
    },
    async remove(name) {
      attempt();
      segments.delete(name);
    },
  };
  return store;
}
