/**
 * A browser for the tests of a process, and a gateway with the built page for each test. Without
 * Chromium the tests are skipped.
 */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterEach, beforeAll, beforeEach } from 'vitest';
import type { Gateway, GatewayOptions } from '../../channels/index.ts';
import type { System } from '../../runtime/index.ts';
import { eventually, gatewayOn, MAIN, TOKEN } from '../channels/gateway/client.ts';
import { FakeSessionSystem } from '../channels/gateway/fake-session-system.ts';
import { dataFolder, openRealSystem } from '../channels/gateway/real-system.ts';
import { builtPage } from './built-page.ts';
import { chromiumPath, NO_CHROMIUM, openChromium } from './chromium.ts';

/** By flags; they end with the process. A start costs 0.8 s of processor time. */
const browsers = new Map<string, Browser>();

async function browserWith(flags: readonly string[]): Promise<Browser> {
  const key = flags.join(' ');
  const open = browsers.get(key);
  if (open?.isConnected() === true) return open;
  const browser = await openChromium(flags);
  browsers.set(key, browser);
  return browser;
}

/**
 * A browser, which files of the same process share; contexts are closed after each test.
 * @param flags of Chromium
 */
export function useBrowser(flags: readonly string[] = []): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (chromiumPath !== undefined) browser = await browserWith(flags);
  }, 60_000);
  beforeEach((context) => {
    if (chromiumPath === undefined) context.skip(NO_CHROMIUM);
  });
  afterEach(async () => {
    for (const context of browser?.contexts() ?? []) await context.close();
  });
  return () => browser!;
}

/** The system and the gateway of the test that runs. */
export type Served<S extends System> = {
  readonly browser: Browser;
  readonly system: S;
  readonly gateway: Gateway;
  /**
   * Starts the gateway after an earlier one was closed. @param system instead of the earlier one
   */
  serve(options?: Partial<GatewayOptions>, system?: S): Promise<Gateway>;
};

/** `close` is called after the system was stopped. */
type Opened<S extends System> = { readonly system: S; readonly close: () => Promise<void> };

/**
 * @param open opens the system of a test
 * @param starts the gateway is started before each test; otherwise the test calls `serve`
 */
function useServed<S extends System>(
  open: () => Promise<Opened<S>>,
  { flags = [], starts = true }: ServedOptions,
): Served<S> {
  let opened: Opened<S> | undefined;
  let gateway: Gateway | undefined;
  const serve: Served<S>['serve'] = async (options = {}, system = opened!.system) => {
    opened = { ...opened!, system };
    gateway = await gatewayOn(system, { webRoot: builtPage(), ...options });
    return gateway;
  };
  beforeEach(async () => {
    if (chromiumPath === undefined) return;
    opened = await open();
    if (starts) await serve();
  });
  // After the browser's, whose hook is registered later.
  afterEach(async () => {
    await gateway?.close();
    await opened?.system.stop();
    await opened?.close();
    [gateway, opened] = [undefined, undefined];
  });
  const browser = useBrowser(flags);
  return {
    get browser() {
      return browser();
    },
    get system() {
      return opened!.system;
    },
    get gateway() {
      return gateway!;
    },
    serve,
  };
}

export type ServedOptions = { readonly flags?: readonly string[]; readonly starts?: boolean };

/** Sessions that the test answers for. */
export const useFakeSessions = (options: ServedOptions = {}): Served<FakeSessionSystem> =>
  useServed(
    () => Promise.resolve({ system: new FakeSessionSystem(), close: () => Promise.resolve() }),
    options,
  );

export type ServedSessions = Served<System> & {
  /** Starts the system again, whose offline model then answers at this pace, and the gateway. */
  restart(tokensPerSecond: number): Promise<void>;
};

/** Real sessions in a data folder. */
export function useRealSessions(options: ServedOptions = {}): ServedSessions {
  let path = '';
  const web = useServed(async () => {
    const folder = dataFolder();
    path = folder.path;
    const close = () => Promise.resolve(folder.remove());
    return { system: await openRealSystem(path, 1_000), close };
  }, options);
  // Not a spread, which would read the system of the first test only.
  return Object.assign(web, {
    async restart(tokensPerSecond: number) {
      await web.gateway.close();
      await web.system.stop();
      await web.serve({}, await openRealSystem(path, tokensPerSecond));
    },
  });
}

/** A new page that is connected. */
export async function openOnline(
  { browser, gateway }: Pick<Served<System>, 'browser' | 'gateway'>,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ locale: 'en-US', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  await page.goto(`${gateway.url}#token=${TOKEN}`);
  await page.getByText('Connected', { exact: true }).waitFor();
  return page;
}

/** The sizes and colours in which views are checked and kept as screenshots. */
export const LOOKS = [
  { name: 'wide-light', viewport: { width: 1_440, height: 900 }, colorScheme: 'light' },
  { name: 'wide-dark', viewport: { width: 1_920, height: 1_080 }, colorScheme: 'dark' },
  { name: 'phone-light', viewport: { width: 360, height: 740 }, colorScheme: 'light' },
  { name: 'phone-dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
] as const;

/** Sends a message. */
export async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
}

/** The run of the main session, once it has started. */
export const runningIn = ({ system }: Pick<Served<FakeSessionSystem>, 'system'>) =>
  eventually(() => system.running(MAIN), 'a run');
