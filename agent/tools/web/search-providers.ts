/**
 * Search providers: Brave, SearXNG and Tavily, each through its HTTP API.
 *
 * Boundary: the operator configures a provider's address, so it may be private. Errors never
 * contain a key. Nothing is retried: the model may search again.
 */
import { TroupeError } from '../../../protocols/errors.ts';
import { abortableBody, signalWithin } from '../../../protocols/time-limit.ts';

export type SearchResult = {
  readonly title: string;
  readonly url: string;
  /** an excerpt of the page, at most WORDS_MAX characters */
  readonly words: string;
};

export interface SearchProvider {
  readonly id: string;
  /**
   * @throws TroupeError UNAUTHORIZED (the key), RATE_LIMIT_EXCEEDED, DEADLINE_EXCEEDED, UNAVAILABLE
   */
  search(
    query: string,
    options: { readonly count: number; readonly signal: AbortSignal },
  ): Promise<readonly SearchResult[]>;
}

export type SearchSettings = {
  readonly provider?: 'brave' | 'searxng' | 'tavily';
  readonly apiKey?: string;
  /** default the provider's own; searxng has no default */
  readonly baseUrl?: string;
};

const WORDS_MAX = 500;
const ANSWER_BYTES_MAX = 2 * 1024 * 1024;
const TIMEOUT_MS = 20_000;

/** undefined when no provider is configured or a required setting is missing. */
export function searchProvider(settings: SearchSettings): SearchProvider | undefined {
  const { provider, apiKey, baseUrl } = settings;
  if (provider === 'searxng') return baseUrl === undefined ? undefined : searxng(baseUrl);
  if (apiKey === undefined) return undefined;
  if (provider === 'brave') return brave(apiKey, baseUrl ?? 'https://api.search.brave.com');
  return provider === 'tavily' ? tavily(apiKey, baseUrl ?? 'https://api.tavily.com') : undefined;
}

const brave = (apiKey: string, baseUrl: string): SearchProvider => ({
  id: 'brave',
  async search(query, { count, signal }) {
    const url = under(baseUrl, '/res/v1/web/search');
    url.search = new URLSearchParams({ q: query, count: String(count) }).toString();
    const headers = { accept: 'application/json', 'x-subscription-token': apiKey };
    const answer = await asked('brave', url, { headers }, signal);
    return resultsOf(at(at(answer, 'web'), 'results'), 'description');
  },
});

const searxng = (baseUrl: string): SearchProvider => ({
  id: 'searxng',
  async search(query, { signal }) {
    const url = under(baseUrl, '/search');
    url.search = new URLSearchParams({ q: query, format: 'json' }).toString();
    const headers = { accept: 'application/json' };
    return resultsOf(at(await asked('searxng', url, { headers }, signal), 'results'), 'content');
  },
});

const tavily = (apiKey: string, baseUrl: string): SearchProvider => ({
  id: 'tavily',
  async search(query, { count, signal }) {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ query, max_results: count }),
    };
    const answer = await asked('tavily', under(baseUrl, '/search'), init, signal);
    return resultsOf(at(answer, 'results'), 'content');
  },
});

const under = (baseUrl: string, path: string): URL =>
  new URL(`${baseUrl.replace(/\/$/, '')}${path}`);

async function asked(
  id: string,
  url: URL,
  init: RequestInit,
  signal: AbortSignal,
): Promise<unknown> {
  const within = signalWithin(signal, TIMEOUT_MS);
  try {
    const response = await fetch(url, { ...init, signal: within, redirect: 'error' });
    if (!response.ok) {
      await response.body?.cancel();
      throw refusedBy(id, response);
    }
    return JSON.parse(await bounded(abortableBody(response, within), id));
  } catch (error) {
    if (error instanceof TroupeError) throw error;
    if (signal.aborted) throw new TroupeError('CANCELLED', 'the call was aborted');
    if ((error as Error).name === 'TimeoutError')
      throw new TroupeError(
        'DEADLINE_EXCEEDED',
        `the search provider ${id} did not answer in time`,
      );
    const why = error instanceof SyntaxError ? 'its answer is not JSON' : 'it cannot be reached';
    throw new TroupeError(
      'UNAVAILABLE',
      `the search provider ${id} at ${url.origin} failed: ${why}`,
    );
  }
}

function refusedBy(id: string, { status, headers }: Response): TroupeError {
  if (status === 401 || status === 403)
    return new TroupeError(
      'UNAUTHORIZED',
      `the search provider ${id} refused the key (status ${status}): see \`tools.web.search\``,
    );
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const message = `the search provider ${id} answered with status ${status}`;
  return status === 429
    ? new TroupeError(
        'RATE_LIMIT_EXCEEDED',
        message,
        Number.isFinite(seconds) ? { retryAfterMs: seconds * 1_000 } : {},
      )
    : new TroupeError('UNAVAILABLE', message);
}

async function bounded({ body }: Response, id: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > ANSWER_BYTES_MAX)
      throw new TroupeError('UNAVAILABLE', `the search provider ${id} sent too large an answer`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const at = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;

/** Removes results without a URL, and highlighting marks. */
function resultsOf(list: unknown, wordsKey: string): SearchResult[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown) => {
    const url = at(entry, 'url');
    if (typeof url !== 'string' || !/^https?:\/\//.test(url)) return [];
    const words = plain(at(entry, wordsKey)).slice(0, WORDS_MAX);
    return [{ title: plain(at(entry, 'title')).slice(0, WORDS_MAX), url, words }];
  });
}

const plain = (value: unknown): string =>
  typeof value === 'string'
    ? value
        .replaceAll(/<\/?[a-z]+>/gi, '')
        .replaceAll(/\s+/g, ' ')
        .trim()
    : '';
