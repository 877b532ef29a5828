/** Messages of the page: their Markdown, what can be done with them, and slash commands. */
import { rmSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Gateway } from '../../channels/index.ts';
import { eventually, gatewayOn, MAIN, TOKEN } from '../channels/gateway/client.ts';
import { FakeSessionSystem } from '../channels/gateway/fake-session-system.ts';
import { axeViolations } from './axe.ts';
import { buildPage } from './built-page.ts';
import { chromiumPath, NO_CHROMIUM, openChromium } from './chromium.ts';

let browser: Browser | undefined;
let webRoot = '';
let system: FakeSessionSystem;
let gateway: Gateway;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  browser = await openChromium();
  webRoot = await buildPage();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  if (webRoot !== '') rmSync(webRoot, { recursive: true });
});
beforeEach(async (context) => {
  if (chromiumPath === undefined) context.skip(NO_CHROMIUM);
  system = new FakeSessionSystem();
  gateway = await gatewayOn(system, { webRoot });
});
afterEach(async () => {
  if (browser === undefined) return;
  for (const context of browser.contexts()) await context.close();
  await gateway.close();
});

const online = async (): Promise<Page> => {
  const page = await browser!.newPage({ locale: 'en-US' });
  page.setDefaultTimeout(10_000);
  await page.goto(`${gateway.url}#token=${TOKEN}`);
  await page.getByText('Connected', { exact: true }).waitFor();
  return page;
};
const say = async (page: Page, text: string) => {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
};
const running = () => eventually(() => system.running(MAIN), 'a run');
const soon = { timeout: 10_000 };
const asked = (page: Page) => page.locator('.message.user .plain');

describe('Markdown', () => {
  const ANSWER = [
    '# Title',
    '',
    '| name | count |',
    '| --- | ---: |',
    '| a | 1 |',
    '',
    '> quoted **words**',
    '',
    '- one',
    '  - nested',
    '- [x] done',
    '- [ ] open',
    '',
    '```ts',
    'const answer = 42;',
    '```',
    '',
    '[link](https://example.org) [no](javascript:alert(1)) ![picture](https://example.org/x.png)',
  ].join('\n');

  test('has tables, quotes, nested lists, tasks and colours, and no violation of axe', async () => {
    const page = await online();
    await say(page, 'show me');
    await running();
    system.finish(MAIN, ANSWER);
    const rich = page.locator('.rich');
    await rich.locator('.hljs-keyword', { hasText: 'const' }).waitFor();
    expect(await rich.locator('td').allTextContents()).toEqual(['a', '1']);
    expect(await rich.locator('blockquote strong').textContent()).toBe('words');
    expect(await rich.locator('ul ul li').textContent()).toBe('nested');
    expect(
      await rich
        .getByRole('checkbox')
        .evaluateAll((all) => all.map((each) => (each as HTMLInputElement).checked)),
    ).toEqual([true, false]);
    // An image of another server is a link, and only http, https and mailto are links.
    const links = await rich
      .locator('a')
      .evaluateAll((all) => all.map((each) => each.getAttribute('href')));
    expect(links).toEqual(['https://example.org', 'https://example.org/x.png']);
    expect(await rich.locator('img').count()).toBe(0);
    expect(await axeViolations(page)).toEqual([]);
  });

  test('bug: a quote of 5,000 levels ended the page', async () => {
    const page = await online();
    await say(page, 'quote');
    await running();
    const deep = `${'> '.repeat(5_000)}deep`;
    system.finish(MAIN, deep);
    await page.locator('.message.agent .plain', { hasText: 'deep' }).waitFor();
    await say(page, 'still there?');
    await running();
    expect(await asked(page).count()).toBe(2);
  });
});

describe('a slash command', () => {
  test('is completed from the list, and refused if it does not exist', async () => {
    const page = await online();
    const field = page.getByRole('textbox', { name: 'Message' });
    await field.fill('/sta');
    await page.getByRole('option', { name: /^\/status/ }).waitFor();
    await page.keyboard.press('Tab');
    expect(await field.inputValue()).toBe('/status');
    await field.fill('/nonsense');
    await page.keyboard.press('Enter');
    await page.getByText('/nonsense is no command').waitFor();
    expect(await asked(page).count()).toBe(0);
  });
});

describe('an earlier message', () => {
  test('can be edited and sent again', async () => {
    const page = await online();
    await say(page, 'hello wurld');
    await running();
    system.finish(MAIN, 'Hello.');
    await page.locator('.message.agent[aria-busy=false]').waitFor();
    await page.locator('.message.user').first().hover();
    await page.getByRole('button', { name: 'Edit and send again' }).click();
    const field = page.getByRole('textbox', { name: 'Message' });
    await expect.poll(() => field.inputValue(), soon).toBe('hello wurld');
    await field.fill('hello world');
    await page.keyboard.press('Enter');
    await running();
    await expect
      .poll(() => asked(page).allTextContents(), soon)
      .toEqual(['hello wurld', 'hello world']);
  });
});
