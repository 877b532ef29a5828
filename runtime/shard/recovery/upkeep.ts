/**
 * Upkeep: periodic work of an owner. It detects that it was replaced although it has nothing to
 * write (A7), passivates idle actors, and writes settled marks that no record carries (D5).
 */
import { Calls } from '../../clock/calls.ts';
import type { Clock } from '../../clock/clock.ts';
import type { Log, LogEntry, Position } from '../../log/log.ts';
import { SLACK_MS } from '../../log/log-time.ts';
import type { Journal } from '../commit/journal.ts';
import type { ActivatedActors } from '../turn/activated-actors.ts';

export type UpkeepOptions = {
  readonly log: Log;
  readonly clock: Clock;
  readonly subject: string;
  readonly journal: Journal;
  readonly residents: ActivatedActors;
  readonly idleProbeMs: number;
  /** no record is unanswered */
  readonly isIdle: () => boolean;
  readonly onReplaced: (why: string) => void;
  /** idle actors have left memory */
  readonly onPassivated: () => void;
  /** this machine's wall clock jumped: it was suspended, or its clock was set */
  readonly onClockSet: () => void;
  /** marks have waited long enough for a record */
  readonly onSettledLong: () => void;
};

/**
 * Moments of a period at which shards probe, the same ones for all of a process: the requests of
 * one moment go in one write, which costs more than what it carries.
 */
const PROBE_MOMENTS = 10;
const PASSIVATE_EVERY_MS = 10_000;
/** The same in a simulation, whose clock passes days within a second. */
const PASSIVATE_STEADY_MS = 600_000;
/** How long settled items wait for a record that carries their mark before one is written (D5). */
const SETTLED_LAG_MS = 10_000;

const wallAheadMs = (clock: Clock): number => clock.wallMs() - clock.monotonicMs();

export class Upkeep {
  readonly #o: UpkeepOptions;
  readonly #calls: Calls<'probe' | 'passivate' | 'settled'>;
  #closed = false;
  /** the wall clock less the monotonic one */
  #wallAheadMs: number;

  constructor(options: UpkeepOptions) {
    this.#o = options;
    this.#calls = new Calls(options.clock);
    this.#wallAheadMs = wallAheadMs(options.clock);
    if (!options.log.atomic) this.#probe();
    this.#passivate();
  }

  settledSoon(): void {
    if (this.#closed || this.#calls.has('settled')) return;
    this.#calls.set('settled', SETTLED_LAG_MS, this.#o.onSettledLong);
  }

  close(): void {
    this.#closed = true;
    this.#calls.cancelAll();
  }

  #probe(): void {
    const { log, clock, journal, subject, idleProbeMs } = this.#o;
    if (this.#closed) return;
    const early = clock.monotonicMs() % (idleProbeMs / PROBE_MOMENTS);
    this.#calls.set('probe', Math.ceil(idleProbeMs - early), () => {
      const expected = journal.last;
      this.#watchClock();
      log.readLast(subject).then(
        (last) => this.#probed(last, expected),
        () => this.#probe(),
      );
    });
  }

  /**
   * A worker's wall clock is never used as a time. Its jump only shows that more time may have
   * passed than the monotonic clock counted.
   */
  #watchClock(): void {
    const aheadMs = wallAheadMs(this.#o.clock);
    if (Math.abs(aheadMs - this.#wallAheadMs) <= SLACK_MS) return;
    this.#wallAheadMs = aheadMs;
    this.#o.onClockSet();
  }

  #probed(last: LogEntry | undefined, expected: Position): void {
    const { journal, isIdle, onReplaced } = this.#o;
    if (this.#closed) return;
    if (isIdle() && expected === journal.last && last?.position !== expected)
      return onReplaced(`another owner wrote record ${last?.position ?? 0}`);
    if (last) journal.learnTime(last);
    this.#probe();
  }

  #passivate(): void {
    const everyMs = this.#o.clock.isSteady ? PASSIVATE_STEADY_MS : PASSIVATE_EVERY_MS;
    this.#calls.set('passivate', everyMs, () => {
      this.#o.residents.passivate();
      this.#o.onPassivated();
      this.#passivate();
    });
  }
}
