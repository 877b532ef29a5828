/**
 * Runs the repeats of scenarios one after the other, each in its own process and folder, and
 * combines their figures. A repeat that takes too long is killed with everything that it started.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Load, loadNow, type MachineFacts, machineFacts } from './computer.ts';
import { ensureBuilt } from './program.ts';
import type { FigureSpec, Scale, Scenario } from './scenario.ts';
import { median } from './statistics.ts';
import type { WorkerAnswer } from './worker.ts';

export type Figure = FigureSpec & {
  /** NaN, which is null in a file: the package that it needs is not installed */
  readonly median: number;
  readonly min: number;
  readonly max: number;
  /** of every repeat, in order */
  readonly values: readonly number[];
};

export type ScenarioResult = {
  readonly name: string;
  readonly question: string;
  /** of all repeats together */
  readonly seconds: number;
  readonly load: Load;
} & (
  | { readonly status: 'measured'; readonly figures: Readonly<Record<string, Figure>> }
  | { readonly status: 'failed'; readonly why: string }
);

/** What `--json` writes and `--baseline` reads. */
export type Results = {
  readonly format: 1;
  readonly startedAt: string;
  readonly scale: Scale;
  readonly machine: MachineFacts;
  readonly scenarios: readonly ScenarioResult[];
};

export type RunnerOptions = {
  readonly scale: Scale;
  readonly repeats?: number;
  /** folder for CPU profiles of the workers and of what they start */
  readonly profiles?: string;
  /** folder with packages for comparison, see `bench/peers` */
  readonly peers?: string;
  /** receives progress, one line at a time */
  readonly onProgress: (line: string) => void;
};

export async function runScenarios(
  scenarios: readonly Scenario[],
  options: RunnerOptions,
): Promise<Results> {
  const startedAt = new Date().toISOString();
  if (scenarios.some(({ needsProgram }) => needsProgram)) ensureBuilt();
  const results: ScenarioResult[] = [];
  for (const scenario of scenarios) results.push(await runScenario(scenario, options));
  const { scale } = options;
  return { format: 1, startedAt, scale, machine: machineFacts(), scenarios: results };
}

async function runScenario(scenario: Scenario, options: RunnerOptions): Promise<ScenarioResult> {
  const { name, question } = scenario;
  const repeats = options.scale === 'full' ? (options.repeats ?? scenario.repeats ?? 3) : 1;
  const load = await loadNow();
  const begun = performance.now();
  const answers: Readonly<Record<string, number | undefined>>[] = [];
  for (let repeat = 1; repeat <= repeats; repeat++) {
    options.onProgress(`${name} ${repeat}/${repeats}`);
    const answer = await runRepeat(scenario, options);
    const seconds = (performance.now() - begun) / 1_000;
    if (answer.kind === 'failed')
      return { name, question, seconds, load, status: 'failed', why: answer.why };
    answers.push(answer.figures);
  }
  const seconds = (performance.now() - begun) / 1_000;
  return {
    name,
    question,
    seconds,
    load,
    status: 'measured',
    figures: together(scenario, answers),
  };
}

function together(
  { figures }: Scenario,
  answers: readonly Readonly<Record<string, number | undefined>>[],
): Record<string, Figure> {
  return Object.fromEntries(
    Object.entries(figures).map(([name, spec]) => {
      const values = answers.map((answer) => answer[name] ?? Number.NaN);
      const [min, max] = [Math.min(...values), Math.max(...values)];
      return [name, { ...spec, median: median(values), min, max, values }];
    }),
  );
}

async function runRepeat(scenario: Scenario, options: RunnerOptions): Promise<WorkerAnswer> {
  const folder = mkdtempSync(join(tmpdir(), `troupe-bench-${scenario.name}-`));
  try {
    return await answerOf(startWorker(scenario, options, folder), scenario);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function startWorker(
  { name }: Scenario,
  { scale, profiles, peers }: RunnerOptions,
  folder: string,
): ChildProcess {
  const profiling: string[] = [];
  if (profiles !== undefined) {
    mkdirSync(profiles, { recursive: true });
    profiling.push('--cpu-prof', `--cpu-prof-dir=${profiles}`);
  }
  const [bundle = ''] = process.argv.slice(1);
  const flags = ['--expose-gc', '--enable-source-maps', ...profiling];
  return spawn(process.execPath, [...flags, bundle, 'worker', name, scale, folder], {
    stdio: ['ignore', 2, 2, 'ipc'],
    // A separate process group, so that processes started by it are found and killed with it.
    detached: true,
    env: {
      ...process.env,
      ...(profiles ? { BENCH_PROFILES: profiles } : {}),
      ...(peers ? { TROUPE_PEERS: peers } : {}),
    },
  });
}

/** Waits for the worker's exit; no process of its group remains when this resolves. */
async function answerOf(worker: ChildProcess, { secondsMax }: Scenario): Promise<WorkerAnswer> {
  let answer: WorkerAnswer = { kind: 'failed', why: 'the worker ended without an answer' };
  worker.on('message', (message) => {
    answer = message as WorkerAnswer;
  });
  const end = () => endGroup(worker);
  const interrupted = () => {
    end();
    process.exit(130);
  };
  process.on('SIGINT', interrupted);
  process.on('SIGTERM', interrupted);
  const timer = setTimeout(() => {
    answer = { kind: 'failed', why: `it did not end within ${secondsMax} s and was killed` };
    end();
  }, secondsMax * 1_000);
  await new Promise((resolve) => worker.once('close', resolve));
  clearTimeout(timer);
  process.off('SIGINT', interrupted);
  process.off('SIGTERM', interrupted);
  end();
  return answer;
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has no process left.
  }
}
