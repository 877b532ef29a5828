/** The built program with an empty data folder, and pages of it in a real browser. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll } from 'vitest';
import { spawnProgram, type Started, startProgram } from '../cli/program.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { chromiumPath } from './chromium.ts';

export type RealProgram = { readonly port: number };

const argsOf = (port: number, data?: string): readonly string[] => {
  const folder = data === undefined ? [] : ['--data', data];
  return ['start', '--port', String(port), '--token', 'T', ...folder];
};
const env = { TROUPE_OFFLINE_TOKENS_PER_SECOND: '2000' };

const ready = async (started: Started, port: number): Promise<RealProgram> => {
  const answer = () => fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
  await eventually(async () => {
    if ((await answer())?.ok !== true)
      throw new Error(`it is not ready: ${started.stdout}${started.stderr}`);
  }, 30_000);
  return { port };
};

/** Ends with the test. @param data its data folder; default an empty one */
export const startRealProgram = async (data?: string): Promise<RealProgram> => {
  const port = await reservePort();
  return ready(startProgram(argsOf(port, data), { env }), port);
};

/**
 * One program for the tests of a file, which starts before the first. A start costs 0.7 s of
 * processor time, and what `prepare` does is done once.
 * @param prepare writes files into its data folder
 */
export function useRealProgram(prepare: (data: string) => void = () => {}): () => RealProgram {
  let program: RealProgram | undefined;
  beforeAll(async () => {
    if (chromiumPath === undefined) return;
    const home = mkdtempSync(join(tmpdir(), 'troupe-page-'));
    const data = join(home, 'data');
    mkdirSync(data);
    prepare(data);
    const port = await reservePort();
    const started = spawnProgram(argsOf(port, data), { home, env });
    program = await ready(started, port);
    return async () => {
      started.child.kill('SIGKILL');
      await started.ended;
      rmSync(home, { recursive: true, force: true });
    };
  }, 60_000);
  return () => program!;
}

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
