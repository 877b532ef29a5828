/** How commands print JSON and sizes. */

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Bytes in a readable unit: `512 MB`, `3.4 GB`. */
export function bytes(count: number): string {
  return count < 1e9 ? `${Math.round(count / 1e6)} MB` : `${(count / 1e9).toFixed(1)} GB`;
}
