/**
 * How long an agent needs to find notes, in real files, without a model: the whole search, with the
 * comparison of the files and the excerpts that are read from them. minisearch, with the same
 * tokens, ranks the same chunks in memory for comparison; it reads no files.
 */
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import MiniSearch from 'minisearch';
import { createSecretMask } from '../agent/tools/secret-mask.ts';
import { WorkspaceNotes } from '../agent/tools/memory/workspace-notes.ts';
import { MemoryIndex } from '../memory/index.ts';
import { tokensOf } from '../memory/tokens.ts';
import { Notes } from './memory-notes.ts';
import { defineScenario } from './harness/scenario.ts';
import { median, percentile } from './harness/statistics.ts';

const RESULTS = 6;
/** They are looked for in every file that is read. */
const SECRETS = createSecretMask(['a token of the gateway', 'a key of a provider']);

export const memorySearch = defineScenario({
  name: 'memory-search',
  question: 'how long does an agent take to find a note among very many, without a model?',
  secondsMax: 240,
  figures: {
    searchMs: { label: 'six notes of 10,000 chunks', unit: 'ms', limit: 'peerMs' },
    searchP99Ms: { label: '  p99', unit: 'ms', limit: 'peerMs' },
    peerMs: { label: '  minisearch in memory, fuzzy', unit: 'ms' },
    manyMs: { label: 'six notes of 100,000 chunks', unit: 'ms' },
    manyP99Ms: { label: '  p99', unit: 'ms' },
    changedMs: { label: '  after a change of one file of 10 chunks', unit: 'ms' },
    indexMs: { label: 'to index a chunk', unit: 'ms', limit: 'peerIndexMs' },
    peerIndexMs: { label: '  minisearch', unit: 'ms' },
    pauseMs: { label: '  longest time without a turn for others', unit: 'ms' },
  },
  async measure({ folder, pick }) {
    const some = new Notes(join(folder, 'some'), pick(10_000, 10_000, 200));
    const few = await searched(some, pick(200, 50, 3));
    const peer = ofPeer(some, pick(200, 50, 3));
    const many = new Notes(join(folder, 'many'), pick(100_000, 20_000, 400));
    const large = await searched(many, pick(200, 50, 3));
    return {
      searchMs: median(few.samples),
      searchP99Ms: percentile(few.samples, 0.99),
      peerMs: median(peer.samples),
      manyMs: median(large.samples),
      manyP99Ms: percentile(large.samples, 0.99),
      changedMs: median(large.changed),
      indexMs: large.indexMs,
      peerIndexMs: peer.indexMs,
      pauseMs: large.pauseMs,
    };
  },
});

async function searched(notes: Notes, times: number) {
  const index = new MemoryIndex();
  const files = new WorkspaceNotes(notes.root, SECRETS);
  const search = async (at: number) => {
    const query = notes.questions[at % notes.questions.length]!;
    const begun = performance.now();
    const { hits, chunks } = await index.search(files, { query, maxResults: RESULTS, minScore: 0 });
    if (hits.length !== RESULTS) throw new Error(`${hits.length} hits for ${query}`);
    return { ms: performance.now() - begun, chunks };
  };
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const first = await search(0);
  delay.disable();
  if (first.chunks !== notes.chunks.length) throw new Error(`${first.chunks} chunks were indexed`);
  for (let warm = 0; warm < 10; warm++) await search(warm);
  const samples: number[] = [];
  for (let at = 0; at < times; at++) samples.push((await search(at)).ms);
  const changed: number[] = [];
  for (let at = 0; at < Math.min(times, 20); at++) {
    notes.change(at);
    changed.push((await search(at)).ms);
  }
  return { samples, changed, indexMs: first.ms / first.chunks, pauseMs: delay.max / 1e6 };
}

function ofPeer({ chunks, questions }: Notes, times: number) {
  const index = new MiniSearch<{ id: number; text: string }>({
    fields: ['text'],
    tokenize: tokensOf,
    processTerm: (term) => term,
  });
  const begun = performance.now();
  for (const [id, text] of chunks.entries()) index.add({ id, text });
  const indexMs = (performance.now() - begun) / chunks.length;
  const samples: number[] = [];
  const how = { prefix: (term: string) => term.length > 3, fuzzy: 0.2 };
  for (let at = 0; at < times; at++) {
    const from = performance.now();
    index.search(questions[at % questions.length]!, how).slice(0, RESULTS);
    samples.push(performance.now() - from);
  }
  return { samples, indexMs };
}
