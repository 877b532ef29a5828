/**
 * Browsers: one Chromium for the process, started when the first page is asked for and ended when
 * the last session has let go; in it one context for each session, so that no session sees
 * another's cookies.
 *
 * Invariants: nothing it loads comes from an address that `net/addresses.ts` refuses, since all of
 * it goes through the guard proxy, loopback included; at most SESSIONS_MAX contexts, the longest
 * unused making room; what was not used for IDLE_MS is closed. Chromium ends with this process,
 * however that ends: it is driven over a pipe and goes when the pipe does.
 */
import { existsSync } from 'node:fs';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Clock } from '../../../runtime/index.ts';
import { type GuardProxy, openGuardProxy } from './net/guard-proxy.ts';
import type { AllowedHosts } from './net/addresses.ts';

export const SESSIONS_MAX = 8;
const PAGES_MAX = 5;
const IDLE_MS = 600_000;
const ACTION_MS = 15_000;
export const NAVIGATION_MS = 30_000;

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The configured one, or the one that is found; undefined when there is none. */
export const chromiumAt = (configured?: string): string | undefined =>
  configured === undefined
    ? PLACES.find((path) => existsSync(path))
    : [configured].find((path) => existsSync(path));

export type BrowsersOptions = {
  readonly executable: string;
  readonly headless: boolean;
  readonly allowPrivate: AllowedHosts;
  readonly clock: Clock;
};

type Opened = { readonly browser: Browser; readonly proxy: GuardProxy };
type Use<T> = (page: Page | undefined, open: () => Promise<Page>) => Promise<T>;
type Session = { readonly context: BrowserContext; usedAt: number; busy: number };

export class Browsers {
  readonly #o: BrowsersOptions;
  readonly #sessions = new Map<string, Promise<Session>>();
  #opened: Promise<Opened> | undefined;
  /** what has come up of it */
  #current: Opened | undefined;
  #cancelSweep: (() => void) | undefined;

  constructor(options: BrowsersOptions) {
    this.#o = options;
  }

  /**
   * The page that the session looks at, undefined when none is open. A use that is given up takes
   * the session's pages with it: a script that never ends would keep them busy for ever.
   *
   * @throws TroupeError CANCELLED
   */
  async with<T>(key: string, signal: AbortSignal, use: Use<T>): Promise<T> {
    let giveUp = () => {};
    const givenUp = new Promise<never>((_, reject) => {
      giveUp = () => {
        reject(new TroupeError('CANCELLED', 'the call is not wanted any more'));
        void this.close(key).catch(() => {});
      };
    });
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      return await Promise.race([givenUp, this.#used(key, use)]);
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  async #used<T>(key: string, use: Use<T>): Promise<T> {
    const session = await this.#sessions.get(key);
    if (!session) return use(undefined, () => this.#firstPage(key));
    session.busy++;
    try {
      const page = session.context.pages().at(-1);
      return await use(page, async () => page ?? session.context.newPage());
    } finally {
      session.busy--;
      session.usedAt = this.#o.clock.monotonicMs();
    }
  }

  /** Whether there was something to close. */
  async close(key: string): Promise<boolean> {
    const found = this.#sessions.get(key);
    this.#sessions.delete(key);
    await (await found?.catch(() => undefined))?.context.close().catch(() => {});
    if (this.#sessions.size === 0) await this.#end();
    return found !== undefined;
  }

  /** Closes every page, and Chromium. */
  async closeAll(): Promise<void> {
    this.#sessions.clear();
    await this.#end();
  }

  async #firstPage(key: string): Promise<Page> {
    while (this.#sessions.size >= SESSIONS_MAX) await this.#makeRoom();
    const session = this.#newSession();
    this.#sessions.set(key, session);
    session.catch(() => this.#sessions.delete(key));
    this.#sweepLater();
    return (await session).context.newPage();
  }

  async #newSession(): Promise<Session> {
    const { browser } = await this.#open();
    const context = await browser.newContext({
      acceptDownloads: false,
      serviceWorkers: 'block',
      viewport: { width: 1_280, height: 800 },
    });
    context.setDefaultTimeout(ACTION_MS);
    context.setDefaultNavigationTimeout(NAVIGATION_MS);
    context.on('page', (page) => {
      if (context.pages().length > PAGES_MAX) void page.close().catch(() => {});
    });
    return { context, usedAt: this.#o.clock.monotonicMs(), busy: 0 };
  }

  async #makeRoom(): Promise<void> {
    const known = await Promise.all(
      [...this.#sessions].map(async ([key, session]) => ({ key, ...(await session) })),
    );
    const [oldest] = known
      .filter(({ busy }) => busy === 0)
      .toSorted((one, other) => one.usedAt - other.usedAt);
    if (!oldest)
      throw new TroupeError(
        'RATE_LIMIT_EXCEEDED',
        `${SESSIONS_MAX} sessions use the browser at this moment: try again later`,
      );
    await this.close(oldest.key);
  }

  #open(): Promise<Opened> {
    this.#opened ??= this.#launch().catch((error: unknown) => {
      this.#opened = undefined;
      throw new TroupeError(
        'UNAVAILABLE',
        `the browser ${this.#o.executable} does not start: ${(error as Error).message.split('\n')[0]}`,
      );
    });
    return this.#opened;
  }

  async #launch(): Promise<Opened> {
    const { executable, headless, allowPrivate } = this.#o;
    const { chromium } = await import('playwright-core');
    const proxy = await openGuardProxy(allowPrivate);
    try {
      const browser = await chromium.launch({
        executablePath: executable,
        headless,
        // Chromium refuses its own sandbox to root, and runs for nobody else without it.
        chromiumSandbox: process.getuid?.() !== 0,
        handleSIGINT: false,
        handleSIGTERM: false,
        handleSIGHUP: false,
        // `<-loopback>`: loopback goes through the proxy, too
        proxy: { server: proxy.url, bypass: '<-loopback>' },
        env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/nonexistent' },
        args: FLAGS,
      });
      const opened = { browser, proxy };
      browser.on('disconnected', () => this.#gone(opened));
      this.#current = opened;
      return opened;
    } catch (error) {
      proxy.close();
      throw error;
    }
  }

  /** Its end may be told when another one has begun, which goes on. */
  #gone(opened: Opened): void {
    opened.proxy.close();
    if (this.#current !== opened) return;
    this.#current = undefined;
    this.#opened = undefined;
    this.#sessions.clear();
  }

  async #end(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    this.#cancelSweep?.();
    this.#cancelSweep = undefined;
    const ended = await opened?.catch(() => undefined);
    if (this.#current === ended) this.#current = undefined;
    await ended?.browser.close().catch(() => {});
  }

  #sweepLater(): void {
    this.#cancelSweep ??= this.#o.clock.after(IDLE_MS / 10, () => {
      this.#cancelSweep = undefined;
      void this.#sweep().catch(() => {});
    });
  }

  async #sweep(): Promise<void> {
    const now = this.#o.clock.monotonicMs();
    for (const [key, opening] of this.#sessions) {
      const session = await opening.catch(() => undefined);
      if (session && session.busy === 0 && now - session.usedAt >= IDLE_MS) await this.close(key);
    }
    if (this.#sessions.size > 0) this.#sweepLater();
  }
}

/** No traffic of its own, and none beside the proxy. */
const FLAGS = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
  '--disable-gpu',
  '--no-first-run',
  '--no-pings',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-features=DnsOverHttps,MediaRouter,OptimizationHints,Translate',
];
