/** Files that an agent sent: what a message says of them, and their download. */
import type { FilePart } from '../../protocols/content.ts';
import { strings } from '../strings.ts';

/** The text of a message without the lines that name its files for clients that show none. */
export const withoutFileNames = (text: string, files: readonly FilePart[]): string =>
  files.reduceRight((rest, { name, bytes }) => {
    const line = `(file ${name}, ${bytes} bytes)`;
    return rest.endsWith(line) ? rest.slice(0, -line.length).trimEnd() : rest;
  }, text);

type Operation = <Result>(name: string, params: object) => Promise<Result>;

/** Asks for a signed URL of the file, and opens it. @throws TroupeError */
export async function downloadFile(
  operation: Operation,
  { key, message, file }: { key: string; message: string; file: FilePart },
): Promise<void> {
  const params = { key, message: Number(message), hash: file.hash };
  const { url } = await operation<{ readonly url: string }>('sessions.file', params);
  const { pathname, search } = new URL(url);
  // This page may have been reached at another address of the gateway than the URL names.
  if (pathname.startsWith('/v1/artifacts/')) await save(pathname + search, file.name);
  else follow(url, file.name);
}

/** The gateway names a download by its hash, so the contents are read here and saved by name. */
async function save(url: string, name: string): Promise<void> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(strings.notDownloaded(name, response.status));
  const contents = URL.createObjectURL(await response.blob());
  follow(contents, name);
  URL.revokeObjectURL(contents);
}

const follow = (url: string, name: string): void => {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
};
