/** Text for terminals: tables and time spans. */
import { styleText } from 'node:util';
import { plainText } from '../protocols/plain-text.ts';

/**
 * Columns as wide as their widest cell; the last one is not padded. The head is bold where stdout
 * has colours. Control characters in cells are replaced, so that a cell from outside cannot control
 * the terminal.
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
    .map((line, n) => `${n === 0 ? styleText('bold', line, { stream: process.stdout }) : line}\n`)
    .join('');
}

/** A time span in milliseconds in its largest unit: `12 s`, `3 min`, `5 h`, `2 d`. */
export function ago(spanMs: number): string {
  const seconds = Math.max(0, Math.round(spanMs / 1_000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** Text for a table cell: line breaks and runs of spaces become one space. */
export const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');

/** A time in ISO 8601. @param at epoch milliseconds */
export const isoTime = (at: number): string => new Date(at).toISOString();
