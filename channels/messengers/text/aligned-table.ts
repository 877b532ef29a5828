/**
 * alignedTable: a table as lines of text in columns, for a font in which all characters are equally
 * wide. Pure.
 *
 * Invariant: the text is at most 40 times as long as the cells and their number; longer cells are
 * not cut, they only shift their line.
 */

type Alignment = 'left' | 'right' | 'center' | null;

/** The widest padding of a column, in places of a character. */
const WIDTH_MAX = 40;

const COMBINING = /[\p{M}\u200b-\u200d\u2060]/u;
/** East Asian wide characters, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

export function alignedTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  align: readonly Alignment[],
): string {
  const [titles, ...cells] = [header, ...rows].map((row) => row.map(oneLine)) as [
    string[],
    ...string[][],
  ];
  const widths = header.map((_, column) =>
    [titles, ...cells].reduce((width, row) => Math.max(width, widthOf(row[column]!)), 1),
  );
  const padded = widths.map((width) => Math.min(width, WIDTH_MAX));
  const lineOf = (row: readonly string[]) =>
    row
      .map((cell, column) => pad(cell, padded[column]!, align[column] ?? null))
      .join(' | ')
      .trimEnd();
  const rule = padded.map((width) => '-'.repeat(width)).join('-+-');
  return [lineOf(titles), rule, ...cells.map(lineOf)].join('\n');
}

const oneLine = (cell: string): string => cell.replaceAll(/\s+/g, ' ').trim();

const widthOf = (cell: string): number => {
  let width = 0;
  for (const one of cell) width += COMBINING.test(one) ? 0 : WIDE.test(one) ? 2 : 1;
  return width;
};

function pad(cell: string, width: number, align: Alignment): string {
  const missing = Math.max(0, width - widthOf(cell));
  const before = align === 'right' ? missing : align === 'center' ? Math.floor(missing / 2) : 0;
  return `${' '.repeat(before)}${cell}${' '.repeat(missing - before)}`;
}
