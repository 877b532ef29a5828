/**
 * One GET for a model with all limits: allowed addresses, at most REDIRECTS_MAX redirects (each is
 * checked), `bytesMax` bytes after decompression, and a time limit.
 *
 * Boundary: returns bytes; `readable.ts` interprets them.
 */
import { lookup } from 'node:dns';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Agent, request } from 'undici';
import { TroupeError } from '../../../../protocols/errors.ts';
import { signalWithin } from '../../../../protocols/time-limit.ts';
import { type AllowedHosts, checkedUrl, isAllowedHost, publicLookup } from './addresses.ts';

export const REDIRECTS_MAX = 5;
const TIMEOUT_MS = 30_000;
const CONNECT_MS = 10_000;

export type FetchedPage = {
  /** after redirects */
  readonly url: string;
  readonly status: number;
  /** lower case, with its parameters; '' without a header */
  readonly contentType: string;
  readonly bytes: Uint8Array;
};

export type PageFetcher = {
  /**
   * @throws TroupeError INVALID_ARGUMENT (invalid URL), FORBIDDEN (an address that is not public),
   *   PAYLOAD_TOO_LARGE, DEADLINE_EXCEEDED, UNAVAILABLE (unreachable, cut, too many redirects),
   *   CANCELLED
   */
  fetch(url: string, signal: AbortSignal): Promise<FetchedPage>;
};

export type PageFetcherOptions = {
  readonly allowPrivate: AllowedHosts;
  /** maximum size of one page; default 5 MiB */
  readonly bytesMax?: number;
  /** name lookup; default `node:dns`, replaced in tests */
  readonly resolve?: typeof lookup;
};

export function createPageFetcher(options: PageFetcherOptions): PageFetcher {
  const { allowPrivate, bytesMax = 5 * 1024 * 1024, resolve } = options;
  const connect = { timeout: CONNECT_MS };
  const common = { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS, keepAliveTimeout: 1_000 };
  const publicOnly = new Agent({
    ...common,
    connect: { ...connect, lookup: publicLookup(resolve) },
  });
  const named = new Agent({ ...common, connect });
  return {
    async fetch(text, signal) {
      const within = signalWithin(signal, TIMEOUT_MS);
      let url = checkedUrl(text, allowPrivate);
      for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
        const dispatcher = isAllowedHost(url, allowPrivate) ? named : publicOnly;
        const step = await get(url, { dispatcher, signal: within, bytesMax }).catch(
          (error: unknown) => {
            throw signal.aborted ? cancelled() : failureOf(error, url);
          },
        );
        if (!(step instanceof URL)) return step;
        url = checkedUrl(step.href, allowPrivate);
      }
      throw new TroupeError('UNAVAILABLE', `${text} redirects more than ${REDIRECTS_MAX} times`);
    },
  };
}

/** The page, or the target of its redirect. */
async function get(
  url: URL,
  { dispatcher, signal, bytesMax }: { dispatcher: Agent; signal: AbortSignal; bytesMax: number },
): Promise<FetchedPage | URL> {
  const { statusCode, headers, body } = await request(url, {
    dispatcher,
    signal,
    headers: {
      'user-agent': 'Mozilla/5.0 (compatible; troupe)',
      accept: 'text/html,application/xhtml+xml,application/json,text/*;q=0.9,*/*;q=0.5',
      'accept-encoding': 'gzip, deflate, br',
    },
  });
  const location = one(headers['location']);
  if (statusCode >= 300 && statusCode < 400 && location && URL.canParse(location, url.href)) {
    await body.dump({ limit: 65_536 });
    return new URL(location, url);
  }
  const bytes = await bounded(url, body, one(headers['content-encoding']), bytesMax);
  const contentType = one(headers['content-type']).toLowerCase();
  return { url: url.href, status: statusCode, contentType, bytes };
}

const one = (header: string | string[] | undefined): string =>
  (Array.isArray(header) ? header[0] : header) ?? '';

/** Counts bytes after decompression, so that a compression bomb cannot exceed the limit. */
async function bounded(
  url: URL,
  body: Readable,
  encoding: string,
  bytesMax: number,
): Promise<Uint8Array> {
  const decoder = decoderOf(encoding.trim().toLowerCase());
  const stream = decoder ? body.pipe(decoder) : body;
  if (decoder) body.on('error', (error) => decoder.destroy(error));
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      if (size > bytesMax)
        throw new TroupeError(
          'PAYLOAD_TOO_LARGE',
          `${url.href} is larger than the limit of ${bytesMax} bytes (\`tools.web.maxBytes\`)`,
        );
      chunks.push(chunk);
    }
  } finally {
    body.destroy();
  }
  return Buffer.concat(chunks);
}

function decoderOf(encoding: string) {
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip();
  if (encoding === 'br') return createBrotliDecompress();
  return encoding === 'deflate' ? createInflate() : undefined;
}

const cancelled = () => new TroupeError('CANCELLED', 'the call was aborted');

function failureOf(error: unknown, { origin }: URL): TroupeError {
  if (error instanceof TroupeError) return error;
  const { name, message, cause } = error as Error;
  if (cause instanceof TroupeError) return cause;
  if (name === 'TimeoutError' || /Timeout/.test(name))
    return new TroupeError('DEADLINE_EXCEEDED', `${origin} did not answer in time`);
  return new TroupeError('UNAVAILABLE', `${origin} cannot be reached: ${message}`);
}
