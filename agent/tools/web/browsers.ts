/**
 * Browsers: one Chromium per process, started with the first page and ended when no session uses
 * it. Each session has its own context, so that sessions share no cookies.
 *
 * Invariants: the browser loads nothing from an address that `net/addresses.ts` refuses, because
 * all of its traffic passes through the guard proxy, including loopback. At most SESSIONS_MAX
 * contexts exist; the least recently used one is closed first. A context is closed after IDLE_MS
 * without use. Chromium is controlled through a pipe, so it ends whenever this process ends.
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

/** The configured executable, or an installed one; undefined when there is none. */
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
  /** parts that have started */
  #current: Opened | undefined;
  #cancelSweep: (() => void) | undefined;

  constructor(options: BrowsersOptions) {
    this.#o = options;
  }

  /**
   * The session's current page, undefined when none is open. An aborted use closes the session's
   * pages, because an endless script would block them.
   *
   * @throws TroupeError CANCELLED
   */
  async with<T>(key: string, signal: AbortSignal, use: Use<T>): Promise<T> {
    let giveUp = () => {};
    const givenUp = new Promise<never>((_, reject) => {
      giveUp = () => {
        reject(new TroupeError('CANCELLED', 'the call was aborted'));
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

  /** Returns whether a page was open. */
  async close(key: string): Promise<boolean> {
    const found = this.#sessions.get(key);
    this.#sessions.delete(key);
    await (await found?.catch(() => undefined))?.context.close().catch(() => {});
    if (this.#sessions.size === 0) await this.#end();
    return found !== undefined;
  }

  /** Closes all pages and Chromium. */
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
        // Chromium's own sandbox does not work for root; for all other users it is required.
        chromiumSandbox: process.getuid?.() !== 0,
        handleSIGINT: false,
        handleSIGTERM: false,
        handleSIGHUP: false,
        // `<-loopback>`: loopback uses the proxy as well
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

  /** The end of this browser may be reported after another one has started, which stays open. */
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

/** Disables Chromium's own requests and all traffic that bypasses the proxy. */
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
