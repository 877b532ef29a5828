/** How commands print: JSON for programs, plain tables for people. */
import { plainText } from '../protocols/plain-text.ts';

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/**
 * Columns as wide as their widest cell; the last one is not padded. Cells hold what strangers call
 * themselves: none of it steers the terminal.
 */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head.map((title) => title.toUpperCase()), ...rows].map((row) => row.map(plainText));
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

/** A time span in its largest unit: `12 s`, `3 min`, `5 h`, `2 d`. */
export function ago(spanMs: number): string {
  const seconds = Math.max(0, Math.round(spanMs / 1_000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** Bytes in a unit that a person reads: `512 MB`, `3.4 GB`. */
export function bytes(count: number): string {
  return count < 1e9 ? `${Math.round(count / 1e6)} MB` : `${(count / 1e9).toFixed(1)} GB`;
}
