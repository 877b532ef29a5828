/**
 * Clock jumps of workers: their wall clock is libfaketime's, which is read from a file of the
 * machine. The monotonic clock is untouched, as when an operator or NTP sets the clock. The clock
 * of NATS, which the runtime uses for stored times, stays right.
 */
import { setClock } from './fake-clock.ts';
import type { Stage } from './stage.ts';
import { until } from './until.ts';

const ALARM_MS = 60_000;
const HOUR = 3_600;
/** Seconds ahead of the right time, for one worker each. */
const JUMPS: readonly number[] = [HOUR, -HOUR, 400 * 24 * HOUR];

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
