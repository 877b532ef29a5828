/** The built program with an empty data folder, and pages of it in a real browser. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { startProgram } from '../cli/program.ts';
import { reservePort } from '../servers/reserve-port.ts';

export type RealProgram = { readonly port: number };

/** Ends with the test. @param data its data folder; default an empty one */
export const startRealProgram = async (data?: string): Promise<RealProgram> => {
  const port = await reservePort();
  const folder = data === undefined ? [] : ['--data', data];
  const started = startProgram(['start', '--port', String(port), '--token', 'T', ...folder], {
    env: { TROUPE_OFFLINE_TOKENS_PER_SECOND: '2000' },
  });
  const answers = () => fetch(`http://127.0.0.1:${port}/readyz`).then(({ ok }) => ok);
  const ready = () => answers().catch(() => `${started.stdout}${started.stderr}`);
  await expect.poll(ready, { timeout: 30_000 }).toBe(true);
  return { port };
};

/** A page of the program at a view, and the errors that the browser reported. */
export const openView = async (
  browser: Browser,
  { port }: RealProgram,
  view: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; errors: readonly string[] }> => {
  const errors: string[] = [];
  const context = await browser.newContext({ locale: 'en-US', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  await page.goto(`http://127.0.0.1:${port}/#token=T${view === '' ? '' : `&view=${view}`}`);
  await page.locator('.connection.online').waitFor();
  return { page, errors };
};

/** Kept when TROUPE_SCREENSHOTS names a folder. */
export const keepScreenshot = async (page: Page, name: string): Promise<void> => {
  const folder = process.env['TROUPE_SCREENSHOTS'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
};
