/**
 * The log of programs of a newer version: the records that they write have format 2, which only
 * they can read. The bodies have format 1, so the program under test can act as the newer one.
 */
import { crc32 } from 'node:zlib';
import type { AppendAnswer, AppendOptions, Log, LogEntry } from '../../../runtime/log/log.ts';
import { ForwardingLog } from '../log/forwarding-log.ts';
import { HEADER_BYTES } from '../../../runtime/shard/commit/record-format.ts';

const MARK = 0xc1;
const NEWER = 2;

export type NewerProgram = {
  /** whether it writes format 2 to this subject now */
  readonly writes: (subject: string) => boolean;
  /** whether it reads format 2; false: an older program reads what it wrote */
  readonly reads: boolean;
};

export class NewerProgramLog extends ForwardingLog {
  readonly #program: NewerProgram;

  constructor(log: Log, program: NewerProgram) {
    super(log);
    this.#program = program;
  }

  override append(
    subject: string,
    bytes: Uint8Array,
    options: AppendOptions = {},
  ): Promise<AppendAnswer> {
    const { alongside, ...rest } = options;
    const written = (to: string, from: Uint8Array) =>
      this.#program.writes(to) ? inFormat(to, from, NEWER) : from;
    const entries = alongside?.entries.map((entry) => ({
      ...entry,
      bytes: written(entry.subject, entry.bytes),
    }));
    return super.append(subject, written(subject, bytes), {
      ...rest,
      ...(entries ? { alongside: { ...alongside!, entries } } : {}),
    });
  }

  protected override seen(subject: string, entry: LogEntry): LogEntry {
    return this.#program.reads ? { ...entry, bytes: inFormat(subject, entry.bytes, 1) } : entry;
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
