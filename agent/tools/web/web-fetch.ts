/**
 * `web_fetch`: the text of a page, marked as from outside. Pages stay in memory for some minutes,
 * so that a call for the next part sends no request.
 */
import { Type } from '@sinclair/typebox';
import { errorData } from '../../../protocols/errors.ts';
import type { PageFetcher, PageFetcherOptions } from './net/fetch-page.ts';
import { fromOutside } from './net/outside.ts';
import { createReader, type Reader } from './net/reader.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '../tool.ts';

/** Maximum characters per call; a later call with `from` returns the rest. */
const CHARACTERS_DEFAULT = 20_000;
const CHARACTERS_MAX = 50_000;
const KEPT_MS = 300_000;
const KEPT_PAGES_MAX = 32;
const KEPT_CHARACTERS_MAX = 4 * 1024 * 1024;

type ReadPage = {
  /** after redirects */
  readonly url: string;
  readonly status: number;
  readonly title?: string;
  readonly text: string;
};

export type WebFetchOptions = PageFetcherOptions & {
  /** monotonic milliseconds, for the age of cached pages */
  readonly monotonicMs: () => number;
  readonly reader?: Reader;
};

export function webFetchTool(options: WebFetchOptions): Tool {
  // undici is loaded with the first page
  let opened: Promise<PageFetcher> | undefined;
  const open = async () => (await import('./net/fetch-page.ts')).createPageFetcher(options);
  const { reader = createReader() } = options;
  const kept = new KeptPages(options.monotonicMs);
  const pageOf = async (url: string, signal: AbortSignal): Promise<ReadPage | string> => {
    const known = kept.get(url);
    if (known) return known;
    opened ??= open();
    const fetched = await (await opened).fetch(url, signal);
    const readable = await reader.read(fetched, signal);
    if (!readable) {
      const { contentType, bytes } = fetched;
      return `${fetched.url} is not text: ${contentType || 'no content type'}, ${bytes.byteLength} bytes`;
    }
    const { title, text } = readable;
    const page = { url: fetched.url, status: fetched.status, text, ...(title ? { title } : {}) };
    if (fetched.status < 400) kept.put(url, page);
    return page;
  };
  return defineTool({
    name: 'web_fetch',
    groups: ['web'],
    description:
      'Reads a web page by its URL and returns its main text as Markdown (JSON and plain text unchanged). It runs no scripts; use browser for pages that need them.',
    parameters: Type.Object(
      {
        url: Type.String({ minLength: 1, maxLength: 4_096, description: 'http or https' }),
        from: Type.Optional(
          Type.Integer({ minimum: 0, description: 'first character to return; default 0' }),
        ),
        characters: Type.Optional(
          Type.Integer({
            minimum: 100,
            maximum: CHARACTERS_MAX,
            description: `number of characters; default ${CHARACTERS_DEFAULT}`,
          }),
        ),
      },
      { additionalProperties: false },
    ),
    class: 'repeatable',
    parallel: true,
    timeoutMs: 60_000,
    async run(
      { url, from = 0, characters = CHARACTERS_DEFAULT },
      { signal, secrets }: ToolContext,
    ) {
      try {
        const page = await pageOf(url, signal);
        if (typeof page === 'string') return failure(page);
        return shown({ ...page, text: secrets.text(page.text) }, from, characters);
      } catch (error) {
        if (signal.aborted) throw error;
        return failure(errorData(error).message);
      }
    },
  });
}

const failure = (text: string): ToolResult => ({ text, isError: true });

function shown({ url, status, title, text }: ReadPage, from: number, characters: number) {
  const part = text.slice(from, from + characters);
  const end = from + part.length;
  const head = [
    ...(title === undefined ? [] : [`Title: ${title}`]),
    ...(status < 400 ? [] : [`The server answered with status ${status}.`]),
    `Characters ${from} to ${end} of ${text.length}${end < text.length ? `; continue with from: ${end}` : ''}.`,
  ];
  return { text: fromOutside(url, `${head.join('\n')}\n\n${part}`), isError: status >= 400 };
}

/** Cache of the last pages, limited by age, number and characters. */
class KeptPages {
  readonly #pages = new Map<string, { readonly page: ReadPage; readonly at: number }>();
  readonly #now: () => number;
  #characters = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get(url: string): ReadPage | undefined {
    const found = this.#pages.get(url);
    if (found && this.#now() - found.at < KEPT_MS) return found.page;
    this.#drop(url);
    return undefined;
  }

  put(url: string, page: ReadPage): void {
    this.#drop(url);
    this.#pages.set(url, { page, at: this.#now() });
    this.#characters += page.text.length;
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= KEPT_PAGES_MAX && this.#characters <= KEPT_CHARACTERS_MAX) return;
      this.#drop(oldest);
    }
  }

  #drop(url: string): void {
    this.#characters -= this.#pages.get(url)?.page.text.length ?? 0;
    this.#pages.delete(url);
  }
}
