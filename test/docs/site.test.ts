/** The site of the documentation in a real browser, from files: no server and no network. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { llmsText } from '../../tools/docs/pages.ts';
import { siteFiles } from '../../tools/docs/site.ts';
import { chromiumPath, NO_CHROMIUM, openChromium } from '../web/chromium.ts';
import { keepScreenshot } from '../web/real-program.ts';
import { axeViolations } from '../web/axe.ts';
import { readPage } from './pages.ts';

const files = siteFiles();
const byPath = new Map(files.map(({ path, contents }) => [path, contents.toString()]));

it('llms.txt is that of the index: run `npm run docs` to renew it', () => {
  expect(readPage('llms.txt')).toBe(llmsText());
});

it('every link of the site leads to a page and an anchor of it', () => {
  const broken: string[] = [];
  let count = 0;
  for (const [path, html] of byPath) {
    if (!path.endsWith('.html')) continue;
    for (const [, href] of html.matchAll(/(?:href|src)="([^"]+)"/g)) {
      if (/^(?:https?:|mailto:|data:)/.test(href!)) continue;
      count++;
      const [to = '', anchor] = href!.split('#');
      const target = byPath.get(to === '' ? path : normalize(join(dirname(path), to)));
      if (target === undefined || (anchor && !target.includes(`id="${anchor}"`)))
        broken.push(`${path}: ${href}`);
    }
  }
  expect(broken).toEqual([]);
  expect(count).toBeGreaterThan(1_000);
});

it('nothing is loaded from elsewhere', () => {
  const foreign = /<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?\/\//;
  const loading = [...byPath].filter(
    ([path, text]) => path.endsWith('.html') && foreign.test(text),
  );
  expect(loading.map(([path]) => path)).toEqual([]);
});

let browser: Browser | undefined;
let folder = '';
beforeAll(async () => {
  if (chromiumPath === undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'troupe-docs-'));
  for (const { path, contents } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), contents);
  }
  browser = await openChromium();
});
afterAll(async () => {
  await browser?.close();
  if (folder !== '') rmSync(folder, { recursive: true, force: true });
});

/** A page of the site, with what went wrong in it. */
async function open(path: string, options: Parameters<Browser['newPage']>[0] = {}) {
  const page = await browser!.newPage(options);
  const wrong: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) wrong.push(message.text());
  });
  page.on('pageerror', (error) => wrong.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith('file:') && !request.url().startsWith('data:'))
      wrong.push(request.url());
  });
  await page.goto(pathToFileURL(join(folder, path)).href);
  return { page, wrong };
}

const search = async (page: Page, text: string) => {
  await page.keyboard.press('/');
  await page.keyboard.type(text);
  await page.locator('#results li').first().waitFor();
};

it('the search finds a section, and its result opens it', async (context) => {
  context.skip(chromiumPath === undefined, NO_CHROMIUM);
  const { page, wrong } = await open('channels/slack.html');
  await search(page, 'one-for-one rolled');
  const texts = await page.locator('#results strong').allTextContents();
  expect(texts.join('\n')).toContain('Semantics: guarantees and non-guarantees: Turns');
  await page.locator('#search').fill('moving from openclaw');
  await page.locator('#results a', { hasText: 'Moving from OpenClaw' }).first().waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/moving-from-openclaw\.html/);
  await page.locator('#search').fill('nothing-has-this-word');
  await page.getByText('Nothing found.').waitFor();
  expect(wrong).toEqual([]);
});

it('works on a phone, in dark colours, and is accessible', async (context) => {
  context.skip(chromiumPath === undefined, NO_CHROMIUM);
  const phone = { viewport: { width: 390, height: 800 }, colorScheme: 'dark' as const };
  const { page, wrong } = await open('tutorial.html', phone);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(390);
  await keepScreenshot(page, 'docs-phone-dark');
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('link', { name: 'Statecharts', exact: true }).click();
  await page.waitForURL(/statecharts\.html/);
  expect(wrong).toEqual([]);
  expect(await axeViolations(page)).toEqual([]);
});

it('the colours can be chosen', async (context) => {
  context.skip(chromiumPath === undefined, NO_CHROMIUM);
  const { page, wrong } = await open('index.html', { viewport: { width: 1440, height: 900 } });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await keepScreenshot(page, 'docs-desktop');
  await page.getByRole('button', { name: 'Light or dark colours' }).click();
  expect(await paper()).not.toBe(light);
  expect(wrong).toEqual([]);
  expect(await axeViolations(page)).toEqual([]);
});
