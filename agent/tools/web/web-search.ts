/**
 * `web_search`: results of a search provider, marked as from outside. `SearchProvider` is the
 * interface of the providers.
 */
import { Type } from '@sinclair/typebox';
import { errorData } from '../../../protocols/errors.ts';
import { fromOutside } from './net/outside.ts';
import type { SearchProvider } from './search-providers.ts';
import { defineTool, type Tool } from '../tool.ts';

const COUNT_DEFAULT = 5;
const COUNT_MAX = 10;

export const webSearchTool = (provider: SearchProvider | undefined): Tool =>
  defineTool({
    name: 'web_search',
    groups: ['web'],
    description:
      'Searches the web and returns title, URL and a short excerpt of each result; read a page with web_fetch.',
    parameters: Type.Object(
      {
        query: Type.String({ minLength: 1, maxLength: 400 }),
        count: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: COUNT_MAX,
            description: `results; default ${COUNT_DEFAULT}`,
          }),
        ),
      },
      { additionalProperties: false },
    ),
    class: 'repeatable',
    parallel: true,
    timeoutMs: 30_000,
    unavailable: () =>
      provider
        ? undefined
        : 'no search provider is configured: set `tools.web.search.provider`, and its `apiKey` or `baseUrl`',
    async run({ query, count = COUNT_DEFAULT }, { signal }) {
      if (!provider) return { text: 'no search provider is configured', isError: true };
      try {
        const results = (await provider.search(query, { count, signal })).slice(0, count);
        if (results.length === 0)
          return { text: `Nothing was found for ${JSON.stringify(query)}.` };
        const lines = results.map(
          ({ title, url, words }, at) => `${at + 1}. ${title}\n   ${url}\n   ${words}`,
        );
        return { text: fromOutside(`web search by ${provider.id}`, lines.join('\n')) };
      } catch (error) {
        if (signal.aborted) throw error;
        return { text: errorData(error).message, isError: true };
      }
    },
  });
