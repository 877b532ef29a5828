/**
 * The web page: the files of one folder, read once and served from memory with a strict content
 * security policy.
 *
 * Invariant: a request selects one of the names that were read. No file path is ever built from
 * client input.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, relative, sep } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { PAGE_BYTES_MAX, PAGE_FILES_MAX } from './limits.ts';

type PageFile = { readonly body: Buffer; readonly type: string; readonly etag: string };
/** From URL path to file. */
export type Page = ReadonlyMap<string, PageFile>;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
};

/** Own scripts and styles only, no frames, no forms, and connections only to this gateway. */
const policyWith = (frames: string): string =>
  `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; ` +
  `connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; ${frames}`;

/** The node page may frame the content that agents display, and nothing else. */
const NODE_PAGE = '/node.html';
/**
 * The node page writes agents' content into this empty page. The policy blocks scripts, requests
 * and navigation, whatever the content is.
 */
const CANVAS_PAGE = '/canvas.html';

const POLICIES: Readonly<Record<string, string>> = {
  [NODE_PAGE]: policyWith("media-src 'self' blob:; frame-src 'self'; frame-ancestors 'none'"),
  [CANVAS_PAGE]:
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
};

export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': policyWith("frame-ancestors 'none'"),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=()',
};

/** Only the node page may use the camera, microphone and location; framed content may not. */
const headersOf = (path: string): Readonly<Record<string, string>> => ({
  ...SECURITY_HEADERS,
  ...(POLICIES[path] ? { 'content-security-policy': POLICIES[path] } : {}),
  ...(path === CANVAS_PAGE ? { 'x-frame-options': 'SAMEORIGIN' } : {}),
  ...(path === NODE_PAGE
    ? {
        'permissions-policy':
          'camera=(self), display-capture=(self), geolocation=(self), microphone=(self)',
      }
    : {}),
});

/**
 * Reads a folder. Without a folder there is no page.
 * @throws TroupeError INVALID_ARGUMENT when it is not a folder, or exceeds the size limits
 */
export const readPage = (root: string | undefined): Page => {
  const page = new Map<string, PageFile>();
  if (root === undefined) return page;
  let bytes = 0;
  for (const path of filesUnder(root)) {
    const body = readFileSync(path);
    bytes += body.length;
    if (bytes > PAGE_BYTES_MAX || page.size >= PAGE_FILES_MAX) {
      throw new TroupeError(
        'INVALID_ARGUMENT',
        `${root} has more than ${PAGE_FILES_MAX} files or ${PAGE_BYTES_MAX} bytes: it is not the folder of the web page`,
      );
    }
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
    const type = TYPES[extname(path)] ?? 'application/octet-stream';
    page.set(`/${relative(root, path).split(sep).join('/')}`, { body, type, etag });
  }
  const index = page.get('/index.html');
  if (index) page.set('/', index);
  return page;
};

const filesUnder = (root: string): readonly string[] => {
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory()) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `the page's folder ${root} is missing: run npm run build`,
    );
  }
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
};

/** Serves a file for GET or HEAD; returns false when there is no such file. */
export const servePage = (
  page: Page,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): boolean => {
  const file = page.get(path);
  if (file === undefined) return false;
  const headers = { ...headersOf(path), etag: file.etag, 'cache-control': 'no-cache' };
  if (request.headers['if-none-match'] === file.etag) {
    response.writeHead(304, headers).end();
    return true;
  }
  response.writeHead(200, {
    ...headers,
    'content-type': file.type,
    'content-length': file.body.length,
  });
  response.end(request.method === 'HEAD' ? undefined : file.body);
  return true;
};
