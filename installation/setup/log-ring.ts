/**
 * LogRing: the last lines of this process's log, for operators who read it through the gateway
 * (`logs.tail`). It receives the lines after the redaction of secrets.
 *
 * Invariants:
 *  1. It keeps at most RING_BYTES_MAX; the oldest lines are dropped.
 *  2. A cursor counts the bytes written since the process started, so it always means the same
 *     line.
 */
import type { LogsTailParams, LogsTailResult } from '../../protocols/gateway/index.ts';

export const RING_BYTES_MAX = 1_048_576;
const LINES = 500;
const BYTES = 250_000;

type Line = { readonly text: string; readonly end: number };

export class LogRing {
  #lines: Line[] = [];
  /** number of `#lines` that were dropped */
  #first = 0;
  #written = 0;

  /** One line, with its line end. */
  write(text: string): void {
    this.#written += Buffer.byteLength(text);
    this.#lines.push({ text: text.trimEnd(), end: this.#written });
    while (this.#written - this.#startOf(this.#first) > RING_BYTES_MAX) this.#first++;
    if (this.#first > 1_000 && this.#first * 2 > this.#lines.length) {
      this.#lines = this.#lines.slice(this.#first);
      this.#first = 0;
    }
  }

  tail({ cursor, limit = LINES, maxBytes = BYTES }: LogsTailParams): LogsTailResult {
    const isForeign = cursor !== undefined && cursor > this.#written;
    const from = cursor === undefined || isForeign ? this.#first : this.#after(cursor);
    let at = this.#lines.length;
    let bytes = 0;
    while (at > from && this.#lines.length - at < limit) {
      const line = this.#lines[at - 1]!;
      bytes += Buffer.byteLength(line.text) + 1;
      if (bytes > maxBytes) break;
      at--;
    }
    const isGone = cursor !== undefined && !isForeign && cursor < this.#startOf(this.#first);
    return {
      file: `log of process ${process.pid}`,
      cursor: this.#written,
      size: this.#written,
      lines: this.#lines.slice(at).map(({ text }) => shown(text)),
      truncated: at > from || isGone,
      reset: isForeign,
    };
  }

  /** Bytes that were written before this line. */
  #startOf(index: number): number {
    return this.#lines[index - 1]?.end ?? (this.#lines[0] ? this.#startOfFirst() : 0);
  }

  #startOfFirst(): number {
    const { end, text } = this.#lines[0]!;
    return end - Buffer.byteLength(text) - 1;
  }

  /** The first line that ends after the cursor. */
  #after(cursor: number): number {
    let [low, high] = [this.#first, this.#lines.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#lines[middle]!.end > cursor) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};

/** A line of the log in the format that OpenClaw's clients expect. */
const shown = (text: string): string => {
  try {
    const { level, time, msg, pid: _, hostname: __, ...facts } = JSON.parse(text) as Fields;
    const more = Object.keys(facts).length === 0 ? '' : ` ${JSON.stringify(facts)}`;
    return JSON.stringify({
      time: new Date(time ?? 0).toISOString(),
      level: LEVELS[level ?? 30] ?? 'info',
      subsystem: 'troupe',
      message: `${msg ?? ''}${more}`.trim(),
    });
  } catch {
    return text;
  }
};
type Fields = Record<string, unknown> & {
  readonly level?: number;
  readonly time?: number;
  readonly msg?: string;
};
