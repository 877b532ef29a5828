/**
 * One step of a load test: sends every request when it is due, whether or not earlier ones were
 * answered (open loop).
 *
 * Invariants:
 *  1. A request that is due is sent or counts as failed. None is skipped.
 *  2. Latency starts when the request was due, so a slow client or a full connection pool counts
 *     (no coordinated omission). Service time starts when the request was sent.
 *  3. The step ends at most `graceMs` after its last request was due; what has not ended by then
 *     counts as unfinished, and its work is cancelled.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCodeOf } from './error-code.ts';
import type { Ending, StepRecorder } from './recorder.ts';
import type { Arrival } from './schedule.ts';

/**
 * Sends one request and resolves when it has succeeded. Calls `sent` when the request leaves the
 * client, if that is later than the call.
 */
export type Send = (request: {
  readonly signal: AbortSignal;
  readonly sent: () => void;
}) => Promise<void>;

export type StepOptions = {
  readonly schedule: Iterable<Arrival>;
  /** requests that are due before count as warm-up: they are sent and not recorded */
  readonly warmupMs: number;
  /** of the schedule, warm-up included */
  readonly lengthMs: number;
  readonly workloads: ReadonlyMap<string, Send>;
  readonly recorder: StepRecorder;
  /** a request that takes longer fails with TIMEOUT */
  readonly timeoutMs: number;
  readonly graceMs: number;
  /** requests in flight; further ones fail with IN_FLIGHT_LIMIT */
  readonly inFlightMax: number;
  /** ends the step early */
  readonly signal: AbortSignal;
  /** called when the warm-up is over */
  readonly onMeasured: () => void;
};

export const IN_FLIGHT_LIMIT = 'IN_FLIGHT_LIMIT';
export const TIMEOUT = 'TIMEOUT';

/** Requests sent in a row before answers are read again. */
const SENT_IN_A_ROW = 64;
/** After a signal, answers that are nearly there may still come. */
const INTERRUPTED_GRACE_MS = 1_000;

/** Resolves with the seconds that were measured: fewer than planned after `signal`. */
export async function runStep(options: StepOptions): Promise<number> {
  const flight = new Flight(options);
  const startMs = performance.now();
  const isMeasured = options.warmupMs === 0;
  if (isMeasured) options.onMeasured();
  let announced = isMeasured;
  let inARow = 0;
  for (const { atMs, workload } of options.schedule) {
    const dueMs = startMs + atMs;
    if (!announced && atMs >= options.warmupMs) {
      await until(startMs + options.warmupMs, options.signal);
      if (!options.signal.aborted) options.onMeasured();
      announced = true;
    }
    inARow = dueMs > performance.now() ? 0 : inARow + 1;
    if (inARow === 0) await until(dueMs, options.signal);
    else if (inARow % SENT_IN_A_ROW === 0) await new Promise((resolve) => setImmediate(resolve));
    if (options.signal.aborted) break;
    flight.send(workload, dueMs, atMs - options.warmupMs);
  }
  await until(startMs + options.lengthMs, options.signal);
  const measuredMs = performance.now() - startMs - options.warmupMs;
  await flight.land(options.signal.aborted ? INTERRUPTED_GRACE_MS : options.graceMs);
  const plannedMs = options.lengthMs - options.warmupMs;
  return Math.max(0.001, Math.min(plannedMs, measuredMs) / 1_000);
}

/** Not before `timeMs`: a timer drops fractions of a millisecond and can fire a little early. */
async function until(timeMs: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    const waitMs = timeMs - performance.now();
    if (waitMs <= 0 || signal.aborted) return;
    // rejects only when the step is ended early, which the caller checks
    await sleep(Math.ceil(waitMs), undefined, { signal }).catch(() => {});
  }
}

/** The requests in flight. */
class Flight {
  readonly #options: StepOptions;
  readonly #end = new AbortController();
  readonly #idle: (() => void)[] = [];
  #inFlight = 0;

  constructor(options: StepOptions) {
    this.#options = options;
    setMaxListeners(0, this.#end.signal);
  }

  /** @param recordedMs since the end of the warm-up; negative: not recorded */
  send(workload: string, dueMs: number, recordedMs: number): void {
    const { recorder, inFlightMax, workloads } = this.#options;
    const end = recordedMs < 0 ? () => {} : recorder.scheduled(workload, recordedMs);
    if (this.#inFlight >= inFlightMax) return end({ error: IN_FLIGHT_LIMIT });
    this.#inFlight++;
    void this.#exchange(workloads.get(workload)!, dueMs).then((ending) => {
      if (!this.#end.signal.aborted) end(ending);
      if (--this.#inFlight === 0) for (const resolve of this.#idle.splice(0)) resolve();
    });
  }

  /** Waits for the requests in flight, and cancels those that have not ended after `graceMs`. */
  async land(graceMs: number): Promise<void> {
    if (this.#inFlight === 0) return;
    const idle = new Promise<void>((resolve) => this.#idle.push(resolve));
    const late = new AbortController();
    await Promise.race([idle, sleep(graceMs, undefined, { signal: late.signal }).catch(() => {})]);
    late.abort();
    this.#end.abort();
  }

  async #exchange(send: Send, dueMs: number): Promise<Ending> {
    const stop = new AbortController();
    const abort = () => stop.abort();
    this.#end.signal.addEventListener('abort', abort, { once: true });
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      stop.abort();
    }, this.#options.timeoutMs);
    let sentMs = performance.now();
    const sent = () => void (sentMs = performance.now());
    try {
      await send({ signal: stop.signal, sent });
      const nowMs = performance.now();
      return { latencyMs: nowMs - dueMs, serviceMs: nowMs - sentMs };
    } catch (error) {
      return { error: isLate ? TIMEOUT : errorCodeOf(error) };
    } finally {
      clearTimeout(timer);
      this.#end.signal.removeEventListener('abort', abort);
    }
  }
}
