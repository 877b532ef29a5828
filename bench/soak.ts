/**
 * Load with faults for a long time on one process, and what grows meanwhile: memory, open handles
 * and the disk. One request in a hundred is a fault: its connection is cut while the run works and
 * the request is repeated with the same key, its tool fails, or its run is aborted. Sessions are
 * deleted when they are full, so everything that is stored should stay about the same.
 *
 * It counts the messages of each session before it is deleted: none is lost, none is there twice.
 * It prints figures, and throws when a message is missing or doubled.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayClient } from '../client/gateway-client.ts';
import { ensureBuilt, type Program, startProgram } from './harness/program.ts';
import { percentile } from './harness/statistics.ts';
import { randomOf } from '../test/random.ts';

export type SoakOptions = {
  readonly minutes: number;
  /** seconds between two lines */
  readonly everySec: number;
  readonly seed: number;
  readonly print: (line: string) => void;
};

const LANES = 8;
/** Messages of a session before it is deleted. */
const SESSION_MESSAGES = 50;
const FAULT_SHARE = 0.01;
/** After a request that is cut: the run has begun by then. */
const CUT_AFTER_MS = 20;
const MIB = 2 ** 20;

type Sample = { readonly rss: number; readonly handles: number; readonly disk: number };
type Counts = { runs: number; cuts: number; failures: number; aborts: number; sessions: number };

/** @throws Error when a message is lost or doubled */
export async function soak({ minutes, everySec, seed, print }: SoakOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-soak-'));
  ensureBuilt();
  const program = await startProgram(folder);
  const counts: Counts = { runs: 0, cuts: 0, failures: 0, aborts: 0, sessions: 0 };
  const until = Date.now() + minutes * 60_000;
  try {
    print(`${LANES} lanes for ${minutes} minutes, ${FAULT_SHARE * 100} % faults (seed ${seed})`);
    print('  min        RSS   handles       disk     runs   cut  failed  aborted  sessions');
    const lanes = Array.from({ length: LANES }, (_, n) =>
      new Lane(program, randomOf(seed + n), counts, n).work(until),
    );
    const working = Promise.all(lanes);
    const samples = await watched(program, { folder, counts, until, everySec, print, working });
    await working;
    for (const line of growthOf(samples)) print(line);
  } finally {
    await program.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

type Watching = Pick<SoakOptions, 'everySec' | 'print'> & {
  readonly folder: string;
  readonly counts: Counts;
  readonly until: number;
  readonly working: Promise<unknown>;
};

async function watched(program: Program, watching: Watching): Promise<readonly Sample[]> {
  const { folder, counts, until, everySec, print, working } = watching;
  const samples: Sample[] = [];
  for (const begun = Date.now(); Date.now() < until; ) {
    // A lane that failed ends the watch.
    await Promise.race([sleep(everySec * 1_000), working]);
    const sample = sampleOf(program, folder);
    samples.push(sample);
    const minute = ((Date.now() - begun) / 60_000).toFixed(1).padStart(5);
    const { runs, cuts, failures, aborts, sessions } = counts;
    const numbers = [runs, cuts, failures, aborts, sessions].map((n) => String(n).padStart(7));
    const { rss, handles, disk } = sample;
    print(`${minute} ${mib(rss)} ${String(handles).padStart(9)} ${mib(disk)} ${numbers.join(' ')}`);
  }
  return samples;
}

const mib = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`.padStart(10);

function sampleOf({ pid }: Program, folder: string): Sample {
  const [, kib = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  const handles = readdirSync(`/proc/${pid}/fd`).length;
  return { rss: Number(kib) * 1_024, handles, disk: bytesBelow(folder) };
}

/** Allocated bytes; a file that is removed meanwhile counts nothing. */
function bytesBelow(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true }))
    if (entry.isFile())
      bytes +=
        (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.blocks ?? 0) *
        512;
  return bytes;
}

/** The median of the last third against that of the second third. */
function growthOf(samples: readonly Sample[]): readonly string[] {
  const third = Math.floor(samples.length / 3);
  if (third === 0) return ['too short for a comparison'];
  return (['rss', 'handles', 'disk'] as const).map((figure) => {
    const median = (from: number, to?: number) =>
      percentile(
        samples.slice(from, to).map((sample) => sample[figure]),
        0.5,
      );
    const [before, after] = [median(third, 2 * third), median(2 * third)];
    const percent = ((after / before - 1) * 100).toFixed(1);
    return `${figure}: ${percent} % from the second to the last third`;
  });
}

/** Sends one message after the other to a session of its own, over a connection of its own. */
class Lane {
  readonly #program: Program;
  readonly #random: () => number;
  readonly #counts: Counts;
  readonly #name: number;
  #client: GatewayClient | undefined;

  constructor(program: Program, random: () => number, counts: Counts, name: number) {
    this.#program = program;
    this.#random = random;
    this.#counts = counts;
    this.#name = name;
  }

  async work(until: number): Promise<void> {
    for (let session = 0; Date.now() < until; session++) {
      const key = `agent:main:soak-${this.#name}-${session}`;
      let sent = 0;
      while (sent < SESSION_MESSAGES && Date.now() < until) await this.#run(key, sent++);
      await this.#end(key, sent);
    }
    this.#client?.close();
  }

  async #run(sessionKey: string, n: number): Promise<void> {
    const isFault = this.#random() < FAULT_SHARE;
    const kind = isFault
      ? (['cut', 'fail', 'abort'] as const)[Math.floor(this.#random() * 3)]
      : undefined;
    const message =
      kind === 'fail' ? 'call read {"path": "absent"}' : 'Tell me something. [[words:60]]';
    const idempotencyKey = `${sessionKey} ${n}`;
    const send = async () =>
      (await this.#connection()).request(
        'agent',
        { message, sessionKey, idempotencyKey },
        { expectFinal: true },
      );
    this.#counts.runs++;
    if (kind === undefined) return void (await send());
    if (kind === 'fail') {
      this.#counts.failures++;
      return void (await send());
    }
    const running = send().catch(() => {});
    await sleep(CUT_AFTER_MS);
    if (kind === 'abort') {
      this.#counts.aborts++;
      await (await this.#connection()).request('chat.abort', { sessionKey });
      return void (await running);
    }
    this.#counts.cuts++;
    this.#client?.close();
    this.#client = undefined;
    await running;
    await send();
  }

  /** @throws Error when messages are lost or doubled */
  async #end(key: string, sent: number): Promise<void> {
    const client = await this.#connection();
    const { messages } = await client.request('chat.history', { sessionKey: key, limit: 1_000 });
    const found = messages.filter(({ role }) => role === 'user').length;
    if (found !== sent) throw new Error(`${key} has ${found} messages of ${sent}`);
    await client.request('sessions.delete', { key });
    this.#counts.sessions++;
  }

  async #connection(): Promise<GatewayClient> {
    this.#client ??= await this.#program.connect();
    return this.#client;
  }
}
