/**
 * How long an agent needs to find notes, in real files, without a model: the whole search, with the
 * comparison of the files and the excerpts that are read from them. minisearch, with the same
 * tokens, and SQLite FTS5 rank the same chunks in memory for comparison; they read no files. Also
 * how many questions of the test set find their note among the first five.
 */
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import MiniSearch from 'minisearch';
import { createSecretMask } from '../agent/tools/secret-mask.ts';
import { WorkspaceNotes } from '../agent/tools/memory/workspace-notes.ts';
import { MemoryIndex } from '../memory/index.ts';
import { heldFiles } from '../test/memory/held-files.ts';
import { filler, NOTES, QUESTIONS } from '../test/memory/questions.ts';
import { installed } from './peers/installed.ts';
import { fts5, type Fts5Query, minisearch, type TextPeer } from './peers/text.ts';
import { idleMbOf } from './memory-idle.ts';
import { Notes } from './memory-notes.ts';
import { defineScenario } from './harness/scenario.ts';
import { median, percentile } from './harness/statistics.ts';

const RESULTS = 6;
/** Of the questions of the test set. */
const FIRST = 5;
/** They are looked for in every file that is read. */
const SECRETS = createSecretMask(['a token of the gateway', 'a key of a provider']);

export const memorySearch = defineScenario({
  name: 'memory-search',
  question: 'how long does an agent take to find a note among very many, without a model?',
  secondsMax: 600,
  figures: {
    searchMs: { label: 'six notes of 10,000 chunks', unit: 'ms', limit: 'peerMs' },
    searchP99Ms: { label: '  p99', unit: 'ms', limit: 'peerMs' },
    peerMs: { label: '  minisearch in memory, fuzzy', unit: 'ms' },
    fts5Ms: { label: '  SQLite FTS5 in memory', unit: 'ms', needs: 'better-sqlite3' },
    manyMs: { label: 'six notes of 100,000 chunks', unit: 'ms' },
    manyP99Ms: { label: '  p99', unit: 'ms' },
    manyPeerMs: { label: '  minisearch in memory, fuzzy', unit: 'ms', needs: 'minisearch' },
    manyFts5Ms: { label: '  SQLite FTS5 in memory', unit: 'ms', needs: 'better-sqlite3' },
    changedMs: { label: '  after a change of one file of 10 chunks', unit: 'ms' },
    indexMs: { label: 'to index a chunk', unit: 'ms', limit: 'peerIndexMs' },
    peerIndexMs: { label: '  minisearch', unit: 'ms' },
    pauseMs: { label: '  longest time without a turn for others', unit: 'ms' },
    idleMb: { label: 'private memory of an index of 10,000 chunks, idle', unit: 'MB' },
    recall: {
      label: 'share of 106 questions whose note is among five',
      unit: 'ratio',
      limit: 'fts5Recall',
    },
    peerRecall: { label: '  minisearch, fuzzy', unit: 'ratio' },
    fts5Recall: { label: '  SQLite FTS5, any word', unit: 'ratio', needs: 'better-sqlite3' },
    fts5AllRecall: { label: '    all words', unit: 'ratio', needs: 'better-sqlite3' },
    fts5TrigramRecall: { label: '    trigrams', unit: 'ratio', needs: 'better-sqlite3' },
  },
  async measure({ folder, pick }) {
    const times = pick(200, 50, 3);
    const idleMb = await idleMbOf(folder, pick(10_000, 10_000, 100));
    const some = new Notes(join(folder, 'some'), pick(10_000, 10_000, 200));
    const few = await searched(some, times);
    const begun = performance.now();
    const peer = minisearch(MiniSearch, some.chunks);
    const peerIndexMs = (performance.now() - begun) / some.chunks.length;
    const many = new Notes(join(folder, 'many'), pick(100_000, 20_000, 400));
    const large = await searched(many, times);
    return {
      searchMs: median(few.samples),
      searchP99Ms: percentile(few.samples, 0.99),
      peerMs: ranked(peer, some, times),
      fts5Ms: ranked(fts5(some.chunks, 'any'), some, times),
      manyMs: median(large.samples),
      manyP99Ms: percentile(large.samples, 0.99),
      manyPeerMs: ranked(manyOfMinisearch(many), many, pick(50, 20, 3)),
      manyFts5Ms: ranked(fts5(many.chunks, 'any'), many, times),
      changedMs: median(large.changed),
      indexMs: large.indexMs,
      peerIndexMs,
      pauseMs: large.pauseMs,
      idleMb,
      ...(await recalls()),
    };
  },
});

/** Of 100,000 chunks it takes a minute, so only if it is asked for. */
function manyOfMinisearch({ chunks }: Notes): TextPeer | undefined {
  const Index = installed<typeof MiniSearch>('minisearch');
  return Index && minisearch(Index, chunks);
}

/** Median, ms. */
function ranked(peer: TextPeer, notes: Notes, times: number): number;
function ranked(peer: TextPeer | undefined, notes: Notes, times: number): number | undefined;
function ranked(peer: TextPeer | undefined, { questions }: Notes, times: number) {
  if (peer === undefined) return undefined;
  const samples: number[] = [];
  for (let at = 0; at < times; at++) {
    const from = performance.now();
    peer(questions[at % questions.length]!, RESULTS);
    samples.push(performance.now() - from);
  }
  return median(samples);
}

/** The shares of the questions in three languages whose note is among the first five. */
async function recalls() {
  const texts = [...Object.values(NOTES), ...filler(500)];
  const ids = Object.keys(NOTES);
  const index = new MemoryIndex();
  const files = heldFiles(texts.map((text, at) => [`memory/${at}.md`, text]));
  let found = 0;
  for (const [, query, id] of QUESTIONS) {
    const { hits } = await index.search(files, { query, maxResults: FIRST, minScore: 0 });
    if (hits.some(({ path }) => path === `memory/${ids.indexOf(id)}.md`)) found++;
  }
  const shareOf = (peer: TextPeer) =>
    QUESTIONS.filter(([, query, id]) => peer(query, FIRST).includes(ids.indexOf(id))).length /
    QUESTIONS.length;
  const ofFts5 = (how: Fts5Query) => {
    const peer = fts5(texts, how);
    return peer && shareOf(peer);
  };
  return {
    recall: found / QUESTIONS.length,
    peerRecall: shareOf(minisearch(MiniSearch, texts)),
    fts5Recall: ofFts5('any'),
    fts5AllRecall: ofFts5('all'),
    fts5TrigramRecall: ofFts5('trigram'),
  };
}

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
