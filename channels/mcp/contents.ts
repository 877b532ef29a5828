/** Contents of resources, as text or base64, and their media types by the names of files. */
import { extname } from 'node:path';
import type { ReadResourceResult } from '@modelcontextprotocol/server';
import { utf8Text } from '../../protocols/utf8-text.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.mjs': 'text/javascript',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.py': 'text/x-python',
  '.sh': 'application/x-sh',
  '.svg': 'image/svg+xml',
  '.toml': 'application/toml',
  '.ts': 'text/x-typescript',
  '.tsv': 'text/tab-separated-values',
  '.txt': 'text/plain',
  '.webp': 'image/webp',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.zip': 'application/zip',
};

/** Of an unknown name, by `bytes`; default `application/octet-stream`. */
export const mimeTypeOf = (path: string, bytes?: Uint8Array): string =>
  TYPES[extname(path).toLowerCase()] ??
  (bytes && utf8Text(bytes) !== undefined ? 'text/plain' : 'application/octet-stream');

/** As text where it is UTF-8, so that a client gets the same bytes. */
export function contentsOf(
  uri: string,
  mimeType: string,
  contents: string | Uint8Array,
): ReadResourceResult {
  const text = typeof contents === 'string' ? contents : utf8Text(contents);
  const held = text === undefined ? { blob: Buffer.from(contents).toString('base64') } : { text };
  return { contents: [{ uri, mimeType, ...held }] };
}
