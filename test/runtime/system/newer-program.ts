/**
 * The log of programs of a newer version: the records that they write have format 2, which only
 * they can read. The bodies have format 1, so the program under test can act as the newer one.
 */
import { crc32 } from 'node:zlib';
import type {
  AppendAnswer,
  AppendOptions,
  Follow,
  Log,
  LogEntry,
  Position,
  ReadOptions,
} from '../../../runtime/log/log.ts';
import { HEADER_BYTES } from '../../../runtime/shard/commit/record-format.ts';

const MARK = 0xc1;
const NEWER = 2;

export type NewerProgram = {
  /** whether it writes format 2 to this subject now */
  readonly writes: (subject: string) => boolean;
  /** whether it reads format 2; false: an older program reads what it wrote */
  readonly reads: boolean;
};

export class NewerProgramLog implements Log {
  readonly #log: Log;
  readonly #program: NewerProgram;

  constructor(log: Log, program: NewerProgram) {
    this.#log = log;
    this.#program = program;
  }

  get atomic(): boolean {
    return this.#log.atomic;
  }

  append(subject: string, bytes: Uint8Array, options: AppendOptions = {}): Promise<AppendAnswer> {
    const { alongside, ...rest } = options;
    const written = (to: string, from: Uint8Array) =>
      this.#program.writes(to) ? inFormat(to, from, NEWER) : from;
    const entries = alongside?.entries.map((entry) => ({
      ...entry,
      bytes: written(entry.subject, entry.bytes),
    }));
    return this.#log.append(subject, written(subject, bytes), {
      ...rest,
      ...(entries ? { alongside: { ...alongside!, entries } } : {}),
    });
  }

  last(subject: string): Promise<Position> {
    return this.#log.last(subject);
  }

  async readLast(subject: string): Promise<LogEntry | undefined> {
    const last = await this.#log.readLast(subject);
    return last && this.#read(subject)(last);
  }

  async read(subject: string, from: Position, options?: ReadOptions): Promise<readonly LogEntry[]> {
    return (await this.#log.read(subject, from, options)).map(this.#read(subject));
  }

  follow(subject: string, from: Position): Follow {
    const follow = this.#log.follow(subject, from);
    const read = this.#read(subject);
    return {
      next: async () => (await follow.next()).map(read),
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

  #read(subject: string): (entry: LogEntry) => LogEntry {
    if (!this.#program.reads) return (entry) => entry;
    return (entry) => ({ ...entry, bytes: inFormat(subject, entry.bytes, 1) });
  }
}

/** The same entry with another format and oldest reader; an entry without a header is unchanged. */
function inFormat(subject: string, bytes: Uint8Array, format: number): Uint8Array {
  if (bytes[0] !== MARK || bytes.length <= HEADER_BYTES) return bytes;
  const changed = Buffer.from(bytes);
  changed[1] = format;
  changed[2] = format;
  if (!subject.startsWith('jrn.')) return changed;
  const at = changed.length - 4;
  changed.writeUInt32BE(crc32(changed.subarray(0, at)) >>> 0, at);
  return changed;
}
