/**
 * ClockJumps: notices when the wall clock of this machine was set, by comparing it with the
 * monotonic clock. Timers follow the wall clock, so those in between fire early or late.
 */
import type { Logger } from 'pino';
import type { Clock, Metrics } from '../runtime/index.ts';

const LOOK_MS = 5_000;
/** A time service corrects smaller differences gradually. */
const JUMP_MS_MIN = 2_000;
/** How long operators see a jump. */
const SHOWN_MS = 3_600_000;

type Jump = { readonly byMs: number; readonly wallMs: number; readonly monotonicMs: number };

export class ClockJumps {
  readonly #clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  readonly #onJump: (text: string) => void;
  #wallMs: number;
  #monotonicMs: number;
  #count = 0;
  #last: Jump | undefined;

  constructor(clock: Pick<Clock, 'wallMs' | 'monotonicMs'>, onJump: (text: string) => void) {
    this.#clock = clock;
    this.#onJump = onJump;
    this.#wallMs = clock.wallMs();
    this.#monotonicMs = clock.monotonicMs();
  }

  /** Jumps since the start of the process. */
  get count(): number {
    return this.#count;
  }

  look(): void {
    const [wallMs, monotonicMs] = [this.#clock.wallMs(), this.#clock.monotonicMs()];
    const byMs = wallMs - this.#wallMs - (monotonicMs - this.#monotonicMs);
    this.#wallMs = wallMs;
    this.#monotonicMs = monotonicMs;
    if (Math.abs(byMs) < JUMP_MS_MIN) return;
    this.#count++;
    this.#last = { byMs, wallMs, monotonicMs };
    this.#onJump(textOf(this.#last));
  }

  /** The last jump as text for operators, if it was within the last hour. */
  readonly fault = (): string | undefined => {
    const last = this.#last;
    const isShown = last && this.#clock.monotonicMs() - last.monotonicMs < SHOWN_MS;
    return isShown ? textOf(last) : undefined;
  };
}

/** With its log lines and the metric of the jumps. It looks until the process ends. */
export function watchClock(
  clock: Clock,
  {
    log,
    metrics,
  }: { readonly log: Pick<Logger, 'warn'>; readonly metrics: Pick<Metrics, 'gauge'> },
): ClockJumps {
  const jumps = new ClockJumps(clock, (text) => log.warn({ alarm: true }, text));
  setInterval(() => jumps.look(), LOOK_MS).unref();
  metrics.gauge(
    'troupe_clock_jumps',
    'how often the clock of the machine was set by over 2 s since the start of the process',
    () => jumps.count,
  );
  return jumps;
}

const textOf = ({ byMs, wallMs }: Jump): string =>
  `the clock of this machine was set ${byMs > 0 ? 'forward' : 'back'} by ` +
  `${Math.round(Math.abs(byMs) / 1_000)} s, or the machine was suspended, until ${new Date(wallMs).toISOString()}`;
