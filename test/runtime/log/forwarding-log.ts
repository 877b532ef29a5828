/** A log that forwards to another one, for tests that change what is read or appended. */
import type {
  AppendAnswer,
  AppendOptions,
  Follow,
  Log,
  LogEntry,
  Position,
  ReadOptions,
} from '../../../runtime/log/log.ts';

export abstract class ForwardingLog implements Log {
  protected readonly log: Log;

  constructor(log: Log) {
    this.log = log;
  }

  get atomic(): boolean {
    return this.log.atomic;
  }

  /** An entry as it is read. */
  protected abstract seen(subject: string, entry: LogEntry): LogEntry;

  append(subject: string, bytes: Uint8Array, options?: AppendOptions): Promise<AppendAnswer> {
    return this.log.append(subject, bytes, options);
  }

  last(subject: string): Promise<Position> {
    return this.log.last(subject);
  }

  async readLast(subject: string): Promise<LogEntry | undefined> {
    const last = await this.log.readLast(subject);
    return last && this.seen(subject, last);
  }

  async read(subject: string, from: Position, options?: ReadOptions): Promise<readonly LogEntry[]> {
    const entries = await this.log.read(subject, from, options);
    return entries.map((entry) => this.seen(subject, entry));
  }

  follow(subject: string, from: Position): Follow {
    const follow = this.log.follow(subject, from);
    return {
      next: async () => (await follow.next()).map((entry) => this.seen(subject, entry)),
      get pending() {
        return follow.pending;
      },
      close: () => follow.close(),
    };
  }

  trim(subject: string, upTo: Position): Promise<void> {
    return this.log.trim(subject, upTo);
  }

  close(): Promise<void> {
    return this.log.close();
  }
}
