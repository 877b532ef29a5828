/**
 * Load with faults for a long time on one process, and what grows meanwhile: memory, open handles
 * and the disk. One request in a hundred is a fault: its connection is cut while the run works and
 * the request is repeated with the same key, its tool fails, or its run is aborted. Sessions are
 * deleted when they are full. What is kept of them by design (transcripts, idempotency keys, ended
 * runs in lists, history) grows with the number of runs, and is reported apart from everything
 * else, which should stay about the same.
 *
 * It counts the messages of each session before it is deleted: none is lost, none is there twice.
 * It prints figures, and throws when a message is missing or doubled.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryOf } from './harness/computer.ts';
import { ensureBuilt, type Program, PROGRAM_TOKEN, startProgram } from './harness/program.ts';
import { FAULT_SHARE, type SoakCounts, SoakLane } from './harness/soak-lane.ts';
import {
  growthLines,
  SAMPLE_HEADER,
  sampleLine,
  type SoakSample,
  type StoredAt,
  storedLines,
} from './harness/soak-report.ts';
import { bytesBelow, storedKinds } from './harness/stored-kinds.ts';
import { randomOf } from '../test/random.ts';

export type SoakOptions = {
  readonly minutes: number;
  /** seconds between two lines */
  readonly everySec: number;
  /** seconds for which the program is idle afterwards, before its memory is read once more */
  readonly idleSec: number;
  readonly seed: number;
  readonly print: (line: string) => void;
};

const LANES = 8;

/** @throws Error when a message is lost or doubled */
export async function soak(options: SoakOptions): Promise<void> {
  const { minutes, idleSec, seed, print } = options;
  const folder = mkdtempSync(join(tmpdir(), 'troupe-soak-'));
  ensureBuilt();
  const program = await startProgram(folder);
  const counts: SoakCounts = { runs: 0, cuts: 0, failures: 0, aborts: 0, sessions: 0 };
  const until = Date.now() + minutes * 60_000;
  const watch = new Watch(program, join(folder, 'data'), counts);
  try {
    print(
      `${LANES} lanes for ${minutes} minutes, ${FAULT_SHARE * 100} % faults (seed ${seed}); MiB`,
    );
    print(SAMPLE_HEADER);
    const lanes = Array.from({ length: LANES }, (_, n) =>
      new SoakLane(program, randomOf(seed + n), counts, n).work(until),
    );
    const working = Promise.all(lanes);
    const samples = await watched(watch, options, until, working);
    await working;
    await watch.look();
    for (const line of [...growthLines(samples), ...watch.stored()]) print(line);
    await sleep(idleSec * 1_000);
    print(`idle for ${idleSec} s:`);
    print(await watch.line());
    const { sessions, runs, cuts, failures, aborts } = counts;
    const faults = `${cuts} cut connections, ${failures} failed tools, ${aborts} aborted runs`;
    print(`no message lost or doubled in ${sessions} sessions: ${runs} runs, ${faults}`);
  } finally {
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function watched(
  watch: Watch,
  { minutes, everySec, print }: SoakOptions,
  until: number,
  working: Promise<unknown>,
): Promise<readonly SoakSample[]> {
  const samples: SoakSample[] = [];
  const third = until - (minutes * 60_000 * 2) / 3;
  while (Date.now() < until) {
    // A lane that failed ends the watch.
    await Promise.race([sleep(everySec * 1_000), working]);
    samples.push(await watch.sample());
    print(watch.lineOf(samples.at(-1)!));
    if (!watch.hasLooked && Date.now() >= third) await watch.look();
  }
  return samples;
}

/** Observes a running program and its data folder. */
class Watch {
  readonly #program: Program;
  readonly #data: string;
  readonly #counts: SoakCounts;
  readonly #begun = Date.now();
  readonly #looks: StoredAt[] = [];

  constructor(program: Program, data: string, counts: SoakCounts) {
    this.#program = program;
    this.#data = data;
    this.#counts = counts;
  }

  get hasLooked(): boolean {
    return this.#looks.length > 0;
  }

  /** Reads all rows of the store. */
  async look(): Promise<void> {
    const { runs } = this.#counts;
    this.#looks.push({ stored: await storedKinds(join(this.#data, 'store')), runs });
  }

  stored(): readonly string[] {
    return storedLines(this.#looks[0]!, this.#looks.at(-1)!);
  }

  async sample(): Promise<SoakSample> {
    const { pid } = this.#program;
    const metrics = await this.#metrics();
    const memory = (field: 'RssAnon' | 'RssFile') => memoryOf(pid, field) * 1e6;
    const store = join(this.#data, 'store');
    const log = bytesBelow(join(store, 'wal'));
    const blobs = bytesBelow(join(store, 'blobs'));
    return {
      own: memory('RssAnon'),
      heapUsed: metrics('nodejs_heap_size_used_bytes'),
      heap: metrics('nodejs_heap_size_total_bytes'),
      buffers: metrics('nodejs_external_memory_bytes'),
      mapped: memory('RssFile'),
      handles: readdirSync(`/proc/${pid}/fd`).length,
      log,
      blobs,
      data: bytesBelow(this.#data) - log - blobs,
    };
  }

  lineOf(sample: SoakSample): string {
    const { runs, cuts, failures, aborts, sessions } = this.#counts;
    const minutes = (Date.now() - this.#begun) / 60_000;
    return sampleLine(minutes, sample, [runs, cuts, failures, aborts, sessions]);
  }

  async line(): Promise<string> {
    return this.lineOf(await this.sample());
  }

  async #metrics(): Promise<(name: string) => number> {
    const headers = { authorization: `Bearer ${PROGRAM_TOKEN}` };
    const answer = await fetch(`http://127.0.0.1:${this.#program.port}/metrics`, { headers });
    const text = await answer.text();
    return (name) => {
      const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
      if (value === undefined) throw new Error(`the program's metrics have no ${name}`);
      return Number(value);
    };
  }
}
