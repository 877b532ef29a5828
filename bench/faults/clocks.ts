/**
 * Clock jumps of workers: their wall clock is libfaketime's, which is read from a file of the
 * machine. The monotonic clock is untouched, as when an operator or NTP sets the clock. The clock
 * of NATS, which the runtime uses for stored times, stays right.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Stage } from './stage.ts';
import { until } from './until.ts';

const LIBRARIES = ['x86_64-linux-gnu', 'aarch64-linux-gnu']
  .map((machine) => `/usr/lib/${machine}/faketime/libfaketimeMT.so.1`)
  .concat('/usr/local/lib/faketime/libfaketimeMT.so.1');

const ALARM_MS = 60_000;
const HOUR = 3_600;
/** Seconds ahead of the right time, for one worker each. */
const JUMPS: readonly number[] = [HOUR, -HOUR, 400 * 24 * HOUR];

const library = (): string | undefined => LIBRARIES.find((path) => existsSync(path));

/** Why clocks cannot be set here; undefined when they can. */
export const noClocks = (): string | undefined =>
  library() ? undefined : 'there is no libfaketime: apt-get install libfaketime';

/** Environment of a worker whose clock `setClock` sets. */
export function clockEnvironment(folder: string, machine: string): Record<string, string> {
  setClock(folder, machine, 0);
  return {
    LD_PRELOAD: library()!,
    FAKETIME_TIMESTAMP_FILE: clockFile(folder, machine),
    // seconds between two readings of the file
    FAKETIME_CACHE_DURATION: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  };
}

const clockFile = (folder: string, machine: string): string => join(folder, `${machine}.clock`);

/** @param aheadSec of the right time */
function setClock(folder: string, machine: string, aheadSec: number): void {
  writeFileSync(clockFile(folder, machine), `${aheadSec < 0 ? '' : '+'}${aheadSec}\n`);
}

/** Sets the clock of one worker after the other, each until the worker reports it. */
export async function clockJumps(stage: Stage): Promise<void> {
  const { cell, chronicle, probes, folder, notes, say } = stage;
  for (const [at, aheadSec] of JUMPS.entries()) {
    const name = cell.machines[at]!;
    const what = `the clock of ${name} jumps by ${aheadSec} s`;
    const fault = chronicle.begin(what);
    setClock(folder, name, aheadSec);
    const isReported = () => cell.saidBy(name).includes('the clock of this machine');
    await until(`${name} reports its wrong clock`, isReported, ALARM_MS);
    const times = await probes.recovered(cell.shardsOf(name));
    setClock(folder, name, 0);
    fault.ended();
    fault.recovered(times);
    say(what);
    await cell.settled();
  }
  notes.push('each worker reported its wrong clock');
}
