/** Messages of the page: their Markdown, what can be done with them, and slash commands. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { MAIN } from '../channels/gateway/client.ts';
import { axeViolations } from './axe.ts';
import { openOnline, runningIn, say, useFakeSessions } from './web-world.ts';

const web = useFakeSessions();

const online = () => openOnline(web);
const running = () => runningIn(web);
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
    web.system.finish(MAIN, ANSWER);
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
    web.system.finish(MAIN, deep);
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
    await page.getByText('/nonsense is not a command').waitFor();
    expect(await asked(page).count()).toBe(0);
  });
});

describe('an earlier message', () => {
  test('can be edited and sent again', async () => {
    const page = await online();
    await say(page, 'hello wurld');
    await running();
    web.system.finish(MAIN, 'Hello.');
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
