/**
 * A log with the time of a test clock. An entry's time is the server's time plus the offset of the
 * test clock when this process first read the entry. For a world whose processes are all in this
 * one: they share the `Ahead`.
 */
import type {
  AppendAnswer,
  AppendOptions,
  Log,
  LogEntry,
  Position,
} from '../../runtime/log/log.ts';
import type { Clock } from '../../runtime/index.ts';
import { ForwardingLog } from '../runtime/log/forwarding-log.ts';

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

export class ShiftedLog extends ForwardingLog {
  readonly #ahead: Ahead;

  constructor(log: Log, ahead: Ahead) {
    super(log);
    this.#ahead = ahead;
  }

  override async append(
    subject: string,
    bytes: Uint8Array,
    options?: AppendOptions,
  ): Promise<AppendAnswer> {
    const answer = await super.append(subject, bytes, options);
    if (answer.kind === 'refused') return answer;
    const ahead = this.#ahead.of(subject, answer.position);
    if (answer.logTimeMs === undefined) return answer;
    return { ...answer, logTimeMs: answer.logTimeMs + ahead };
  }

  protected override seen(subject: string, entry: LogEntry): LogEntry {
    return { ...entry, logTimeMs: entry.logTimeMs + this.#ahead.of(subject, entry.position) };
  }
}
