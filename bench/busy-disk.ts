/**
 * A disk that other processes write to as fast as they can: whether its stalls hold the event loop.
 * One ask every 20 ms; each needs two appends. A timer process without a disk runs beside it,
 * because the writers take processor time from both.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { atPace } from './harness/pace.ts';
import { defineScenario } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';
import { ask, counterAddress, openSystem } from './harness/system.ts';

const ACTORS = 64;
const ASK_EVERY_MS = 20;
const WRITERS = 2;
/** Until the kernel begins to hold writers, because too much data waits for the disk. */
const SATURATE_MS = 2_000;

export const busyDisk = defineScenario({
  name: 'busy-disk',
  question: 'does a saturated disk hold the event loop?',
  secondsMax: 120,
  figures: {
    loopMaxMs: {
      label: '50 asks/s: longest delay of the event loop',
      unit: 'ms',
      limit: 'bareMaxMs',
    },
    loopP99Ms: { label: '  p99', unit: 'ms', limit: 'bareP99Ms' },
    askP50Ms: { label: '  ask, from its time to its reply, p50', unit: 'ms' },
    askP99Ms: { label: '  p99', unit: 'ms' },
    bareMaxMs: { label: 'limit: longest delay of a process without a disk', unit: 'ms' },
    bareP99Ms: { label: '  p99', unit: 'ms' },
  },
  async measure({ folder, pick }) {
    const seconds = pick(40, 10, 0.2);
    const system = await openSystem(folder);
    const one = async (at: number) => {
      await ask(system, counterAddress(`busy-${at % ACTORS}`), { type: 'get' });
    };
    for (let at = 0; at < pick(500, 500, 5); at++) await one(at);
    const writers = Array.from({ length: WRITERS }, (_, n) =>
      startWriter(join(folder, `other-${n}`), pick(4_096, 1_024, 1)),
    );
    await sleep(pick(SATURATE_MS, SATURATE_MS, 10));
    const bare = bareDelay(seconds);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const asks = await atPace(ASK_EVERY_MS, (seconds * 1_000) / ASK_EVERY_MS, async (at, dueMs) => {
      await one(at);
      return performance.now() - dueMs;
    });
    delay.disable();
    const { max, p99 } = await bare;
    for (const writer of writers) await ended(writer);
    await system.stop();
    const answered = spread(asks);
    return {
      loopMaxMs: delay.max / 1e6,
      loopP99Ms: delay.percentile(99) / 1e6,
      askP50Ms: answered.p50,
      askP99Ms: answered.p99,
      bareMaxMs: max,
      bareP99Ms: p99,
    };
  },
});

/** Writes a file of so many MiB again and again, for two minutes at most. */
export const startWriter = (path: string, mebibytes: number): ChildProcess =>
  startNode(`
    const { openSync, writeSync } = require('node:fs');
    const file = openSync(${JSON.stringify(path)}, 'w');
    const block = Buffer.alloc(2 ** 20, 1);
    const end = Date.now() + 120_000;
    for (let at = 0; Date.now() < end; at = (at + 1) % ${mebibytes})
      writeSync(file, block, 0, block.length, at * block.length);`);

/** The same measurement in a process that has timers only. */
async function bareDelay(seconds: number): Promise<{ max: number; p99: number }> {
  const child = startNode(`
    const delay = require('node:perf_hooks').monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    setInterval(() => {}, ${ASK_EVERY_MS});
    setTimeout(() => {
      console.log(JSON.stringify({ max: delay.max / 1e6, p99: delay.percentile(99) / 1e6 }));
      process.exit();
    }, ${seconds * 1_000});`);
  const [text] = (await once(child.stdout!, 'data')) as [Buffer];
  return JSON.parse(text.toString()) as { max: number; p99: number };
}

const startNode = (script: string): ChildProcess =>
  spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });

export async function ended(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
