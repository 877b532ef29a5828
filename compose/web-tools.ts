/** The tools that connect to other servers, by configuration. */
import { defined } from '../protocols/defined.ts';
import type { Tool } from '../agent/tools/tool.ts';
import { createWebTools } from '../agent/tools/web/web-tools.ts';
import type { Config } from '../runtime/config/index.ts';
import { systemClock } from '../runtime/index.ts';

export function webToolsOf({ tools: { web, browser } }: Config): readonly Tool[] {
  const { provider, apiKey, baseUrl } = web.search;
  return createWebTools({
    clock: systemClock,
    search: {
      ...defined({ provider }),
      ...(apiKey === undefined ? {} : { apiKey: apiKey.reveal() }),
      ...defined({ baseUrl }),
    },
    allowPrivate: web.allowPrivate,
    bytesMax: web.maxBytes,
    browser,
  });
}
