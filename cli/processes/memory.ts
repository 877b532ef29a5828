/**
 * Memory of a server process, by flags of V8 that it reads whenever they apply.
 *
 * At the start, two flags save 15 of 96 MB and cost no processor time:
 *  - Almost everything that a start allocates stays: modules, schemas, compiled code. V8 takes a
 *    high rate of survival as a reason to enlarge its young generation, to 16 MB here. That helps
 *    only a process that has work, so the young generation grows when the process is ready.
 *  - The optimizing compiler is 5 MB of Node's file that would be read for a dozen functions. It is
 *    off until the process is ready, for three seconds at most: recovery of a large store needs it.
 *
 * V8 allocates in the old generation where objects of one place in the code once survived
 * ("pretenuring"). Those of a turn or an event die young, too, and each keeps what it
 * refers to until a collection of the old generation: a tenth of all garbage, in a loop of a
 * session's transitions alone. Without it that loop takes 22 % less processor time, and a run 5 to
 * 8 % less.
 *
 * V8 collects the young generation in up to five threads at once. The main thread waits for the
 * others, and has no less to do itself, because little survives and they mostly look for work: in
 * one thread a run takes 4 to 8 % less processor time of the process (two cores, both in use).
 *
 * Under load, V8 lets the heap grow to four times what is alive before it collects. Here it may
 * double: a third less memory for about 5 % more processor time of an agent run. V8 collects
 * nothing in a process without work, so this module does: a tenth of a second that returns 80 of
 * 190 MB after 12,000 runs. It does so once more when idle actors have left memory with what they
 * kept there, a minute and a half later.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';

const WITHOUT_OPTIMIZER_MS_MAX = 3_000;
/** Growth of the heap, above what was alive, at which V8 collects, in percent. */
const HEAP_GROWTH_PERCENT = 100;
const CHECK_EVERY_MS = 5_000;
/** A process that used less of its time for JavaScript since the last check is idle. */
const IDLE_SHARE_MAX = 0.05;
/** Checks in a row at which it is idle. */
const IDLE_CHECKS = 2;
/** Checks in a row after which actors are passive (`idleMs` of sessions, and the next look). */
const PASSIVE_CHECKS = 18;
/** A process with a little steady work is not paused more often. */
const PAUSES_EVERY_MS = 60_000;
/** Garbage below this size is not worth a pause. */
const GARBAGE_BYTES_MIN = 24 * 2 ** 20;

/**
 * Resolves, or rejects, as `start` does. From then on the process returns memory when it is idle.
 */
export async function startSmall<T>(start: () => Promise<T>): Promise<T> {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--no-opt');
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  const optimize = () => setFlagsFromString('--opt');
  const timer = setTimeout(optimize, WITHOUT_OPTIMIZER_MS_MAX);
  try {
    return await start();
  } finally {
    clearTimeout(timer);
    optimize();
    setFlagsFromString('--semi-space-growth-factor=2');
    collectWhenIdle();
  }
}

/** Collects garbage in a process that had work and is idle now. */
function collectWhenIdle(): void {
  let heap = heapBytes();
  let since = performance.eventLoopUtilization();
  let idleChecks = 0;
  let notBefore = 0;
  let isPassiveDue = false;
  const check = async () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, since);
    since = now;
    idleChecks = utilization > IDLE_SHARE_MAX ? 0 : idleChecks + 1;
    const bytes = heapBytes();
    heap = Math.min(heap, bytes);
    if (idleChecks < IDLE_CHECKS || performance.now() < notBefore) return;
    const isPassive = isPassiveDue && idleChecks >= PASSIVE_CHECKS;
    if (!isPassive && bytes - heap < GARBAGE_BYTES_MIN) return;
    isPassiveDue = !isPassive;
    notBefore = performance.now() + PAUSES_EVERY_MS;
    await collectAll();
    heap = heapBytes();
    since = performance.eventLoopUtilization();
  };
  // A Node without the inspector keeps its garbage.
  const timer = setInterval(() => void check().catch(() => clearInterval(timer)), CHECK_EVERY_MS);
  timer.unref();
}

/** What V8 holds of the system's memory, with the buffers that its objects keep. */
const heapBytes = (): number => {
  const { heapTotal, external } = process.memoryUsage();
  return heapTotal + external;
};

/** The inspector's call also shrinks the young generation and returns the emptied pages. */
async function collectAll(): Promise<void> {
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
}
