/** How commands print JSON and sizes. */

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Where the text of a changed configuration file is kept; empty without a former file. */
export const formerFile = (backup: string | undefined): string =>
  backup === undefined ? '' : `\nThe former file, with its comments: ${backup}`;

/** Bytes in a readable unit: `512 MB`, `3.4 GB`. */
export function bytes(count: number): string {
  return count < 1e9 ? `${Math.round(count / 1e6)} MB` : `${(count / 1e9).toFixed(1)} GB`;
}
