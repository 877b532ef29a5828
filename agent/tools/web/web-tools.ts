/** Tools that reach outside: web, browser, notifications and schedules. */
import { defined } from '../../../protocols/defined.ts';
import type { Artifacts, Clock } from '../../../runtime/index.ts';
import { browserTool } from './browser.ts';
import { chromiumAt } from './browsers.ts';
import { cronTool } from '../schedule/cron.ts';
import { messageTool } from '../sessions/message.ts';
import { searchProvider, type SearchSettings } from './search-providers.ts';
import type { Tool } from '../tool.ts';
import { webFetchTool } from './web-fetch.ts';
import { webSearchTool } from './web-search.ts';

export type WebToolsOptions = {
  readonly clock: Clock;
  /** stores the files of messages until they are sent */
  readonly bucket: Promise<Pick<Artifacts, 'put'>>;
  readonly search: SearchSettings;
  /** allowed hosts that are not public: `name` or `address`, each optionally with `:port` */
  readonly allowPrivate: readonly string[];
  /** maximum page size of web_fetch; default 5 MiB */
  readonly bytesMax?: number;
  readonly browser: {
    /** default an installed browser */
    readonly executable?: string | undefined;
    readonly headless: boolean;
    readonly evaluate: boolean;
  };
};

export const createWebTools = (options: WebToolsOptions): readonly Tool[] => {
  const { clock, bucket, search, allowPrivate, bytesMax, browser } = options;
  return [
    webSearchTool(searchProvider(search)),
    webFetchTool({
      allowPrivate,
      ...defined({ bytesMax }),
      monotonicMs: () => clock.monotonicMs(),
    }),
    browserTool({
      clock,
      allowPrivate,
      executable: chromiumAt(browser.executable),
      headless: browser.headless,
      evaluate: browser.evaluate,
    }),
    messageTool(bucket),
    cronTool,
  ];
};
