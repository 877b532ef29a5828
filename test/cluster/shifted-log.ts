/**
 * A log with the time of a test clock. An entry's time is the server's time plus the offset of the
 * test clock when this process first read the entry. For a world whose processes are all in this
 * one: they share the `Ahead`.
 */
import type {
  AppendAnswer,
  AppendOptions,
  Follow,
  Log,
  LogEntry,
  Position,
  ReadOptions,
} from '../../runtime/log/log.ts';
import type { Clock } from '../../runtime/index.ts';

/** The known entry times of a cell; outlives the logs that read them. */
export class Ahead {
  readonly #byEntry = new Map<string, number>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(subject: string, position: Position): number {
    const entry = `${position} ${subject}`;
    const known = this.#byEntry.get(entry);
    if (known !== undefined) return known;
    const ahead = Math.round(this.#clock.wallMs() - Date.now());
    this.#byEntry.set(entry, ahead);
    return ahead;
  }
}

export class ShiftedLog implements Log {
  readonly #log: Log;
  readonly #ahead: Ahead;

  constructor(log: Log, ahead: Ahead) {
    this.#log = log;
    this.#ahead = ahead;
  }

  get atomic(): boolean {
    return this.#log.atomic;
  }

  async append(subject: string, bytes: Uint8Array, options?: AppendOptions): Promise<AppendAnswer> {
    const answer = await this.#log.append(subject, bytes, options);
    if (answer.kind === 'refused') return answer;
    const ahead = this.#ahead.of(subject, answer.position);
    if (answer.logTimeMs === undefined) return answer;
    return { ...answer, logTimeMs: answer.logTimeMs + ahead };
  }

  last(subject: string): Promise<Position> {
    return this.#log.last(subject);
  }

  async readLast(subject: string): Promise<LogEntry | undefined> {
    const last = await this.#log.readLast(subject);
    return last && this.#shifted(subject)(last);
  }

  async read(subject: string, from: Position, options?: ReadOptions): Promise<readonly LogEntry[]> {
    return (await this.#log.read(subject, from, options)).map(this.#shifted(subject));
  }

  follow(subject: string, from: Position): Follow {
    const follow = this.#log.follow(subject, from);
    const shifted = this.#shifted(subject);
    return {
      next: async () => (await follow.next()).map(shifted),
      get pending() {
        return follow.pending;
      },
      close: () => follow.close(),
    };
  }

  trim(subject: string, upTo: Position): Promise<void> {
    return this.#log.trim(subject, upTo);
  }

  close(): Promise<void> {
    return this.#log.close();
  }

  #shifted(subject: string): (entry: LogEntry) => LogEntry {
    return (entry) => ({
      ...entry,
      logTimeMs: entry.logTimeMs + this.#ahead.of(subject, entry.position),
    });
  }
}
