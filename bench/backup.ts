/**
 * How long writers wait while a backup is written: the same load without and with backups, in
 * alternation. 50 messages a second, from the time at which each is due to its acceptance: a sender
 * that was held up counts as a wait. Backups are made by the real command, one after the other, in
 * a process of its own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { System } from '../runtime/index.ts';
import { bundle } from './harness/program.ts';
import { ENV, openNode, spreadOver, startServer, startWorker } from './harness/cell.ts';
import { atPace } from './harness/pace.ts';
import { defineScenario, type Repeat } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';
import { counterAddress, inParallel, openSystem, SHARDS, tell } from './harness/system.ts';

const EVERY_MS = 20;
/** Rows of the store: each is read and written by a backup. */
const ACTORS = { full: 50_000, quick: 10_000, smoke: 64 };
const FIGURES = {
  quietP99Ms: { label: 'acceptance without a backup, p99', unit: 'ms' },
  quietMaxMs: { label: '  longest', unit: 'ms' },
  p99Ms: { label: 'acceptance during backups, p99', unit: 'ms', limit: 'quietP99Ms' },
  maxMs: { label: '  longest; the goal is 200', unit: 'ms', limit: 'quietMaxMs' },
  p99Ratio: { label: '  p99, of that without (median of the pairs)', unit: 'times' },
  backups: { label: 'backups that were written meanwhile', unit: 'count' },
} as const;

export const backup = defineScenario({
  name: 'backup',
  question: 'how long do writers wait for a backup of a data folder?',
  needsProgram: true,
  secondsMax: 240,
  figures: FIGURES,
  async measure(repeat) {
    const { folder } = repeat;
    const data = join(folder, 'data');
    const system = await openSystem(data);
    const measured = await inPairs(system, repeat, ['--data', data]);
    await system.stop();
    return measured;
  },
});

export const clusterBackup = defineScenario({
  name: 'cluster-backup',
  question: 'how long do writers wait for a backup of a cluster?',
  needsProgram: true,
  secondsMax: 400,
  figures: FIGURES,
  async measure(repeat) {
    const { folder } = repeat;
    const server = await startServer(folder);
    const node = { url: server.url, shards: SHARDS, folder };
    const worker = await startWorker({ ...node, name: 'worker' });
    const gateway = await openNode({ ...node, role: 'gateway', name: 'gateway' });
    await spreadOver(gateway, 1, SHARDS);
    const data = join(folder, 'command');
    await mkdir(data);
    await writeFile(join(data, 'troupe.json5'), JSON.stringify({ nats: { env: ENV } }));
    const where = ['--data', data, '--nats', server.url];
    const measured = await inPairs(gateway, repeat, where);
    await gateway.stop();
    await worker.stop();
    await server.stop();
    return measured;
  },
});

async function inPairs(system: System, { folder, pick }: Repeat, where: readonly string[]) {
  const actors = pick(ACTORS.full, ACTORS.quick, ACTORS.smoke);
  const add = (at: number) =>
    tell(system, counterAddress(`k${at % actors}`), { type: 'add', by: 1 });
  await inParallel(actors, 64, add);
  const seconds = pick(8, 5, 0.2);
  const pairs = pick(6, 4, 1);
  const all = { quiet: [] as number[], busy: [] as number[], ratios: [] as number[] };
  let backups = 0;
  for (let pair = 0; pair < pairs; pair++) {
    const stop = new AbortController();
    const isFirst = pair % 2 === 0;
    const quiet = isFirst ? await accepted(seconds, add) : [];
    const writing = backUpAgain(where, join(folder, 'backups'), stop.signal);
    const busy = await accepted(seconds, add, writing.first);
    stop.abort();
    backups += await writing.ended;
    if (!isFirst) quiet.push(...(await accepted(seconds, add)));
    all.quiet.push(...quiet);
    all.busy.push(...busy);
    all.ratios.push(spread(busy).p99 / spread(quiet).p99);
  }
  return {
    quietP99Ms: spread(all.quiet).p99,
    quietMaxMs: Math.max(...all.quiet),
    p99Ms: spread(all.busy).p99,
    maxMs: Math.max(...all.busy),
    p99Ratio: spread(all.ratios).p50,
    backups,
  };
}

/**
 * Milliseconds from the time at which each message is due.
 * @param least continues at least until then
 */
async function accepted(
  seconds: number,
  add: (at: number) => Promise<void>,
  least: Promise<unknown> = Promise.resolve(),
): Promise<number[]> {
  const count = (seconds * 1_000) / EVERY_MS;
  let isOver = false;
  void least.then(() => (isOver = true));
  const isNext = (at: number) => at < count || !isOver;
  return atPace(EVERY_MS, isNext, async (at, dueMs) => {
    await add(at * 7_919);
    return performance.now() - dueMs;
  });
}

/** Backups one after the other until the signal; `ended` resolves with their number. */
function backUpAgain(where: readonly string[], to: string, signal: AbortSignal) {
  const one = async () => {
    const args = [bundle, 'backup', 'create', ...where, '--to', to, '--keep', '2', '--json'];
    const env = { ...process.env, TROUPE_CONFIG: '' };
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
    let said = '';
    child.stderr.on('data', (text: Buffer) => (said += text.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`the backup ended with ${code}: ${said}`);
  };
  const first = one();
  const all = async () => {
    await first;
    let count = 1;
    for (; !signal.aborted; count++) await one();
    return count;
  };
  return { first, ended: all() };
}
