/** Names of files in texts, for clients that show no files. */
import type { FilePart } from '../../protocols/content.ts';

/** The text of a message without the lines at its end that name its files. */
export const withoutFileNames = (text: string, files: readonly FilePart[]): string =>
  files.reduceRight((rest, { name, bytes }) => {
    const line = `(file ${name}, ${bytes} bytes)`;
    return rest.endsWith(line) ? rest.slice(0, -line.length).trimEnd() : rest;
  }, text);
