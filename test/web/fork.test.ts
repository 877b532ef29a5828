/** Forks in the page: from a message, before a message, and at a turn of the session's actor. */
import type { Page } from 'playwright-core';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { axeViolations } from './axe.ts';
import { chromiumPath, NO_CHROMIUM, openChromium } from './chromium.ts';
import { keepScreenshot, openView, startRealProgram } from './real-program.ts';

beforeEach((context) => {
  if (chromiumPath === undefined) context.skip(NO_CHROMIUM);
});

const asked = (page: Page) => page.locator('.message.user .plain');
const answers = (page: Page) => page.locator('.message.agent .rich');
const field = (page: Page) => page.getByRole('textbox', { name: 'Message' });

/** Sends a message, and waits until its answer is part of the history. */
const say = async (page: Page, text: string, count: number) => {
  await field(page).fill(text);
  await page.keyboard.press('Enter');
  await answers(page)
    .nth(count - 1)
    .waitFor();
  await page
    .getByRole('button', { name: 'Fork here' })
    .nth(count - 1)
    .waitFor();
};

const isFork = (page: Page) =>
  expect.poll(() => page.url(), { timeout: 10_000 }).toContain('fork-');

test('a message is forked: the new conversation opens, and the old one stays as it is', async () => {
  const browser = await openChromium();
  onTestFinished(() => browser.close());
  const program = await startRealProgram();
  const { page, errors } = await openView(browser, program, '');
  await say(page, 'echo apples', 1);
  await say(page, 'echo pears', 2);
  const main = page.url();

  await page.locator('.message.agent').first().hover();
  await page.getByRole('button', { name: 'Fork here' }).first().click();
  await isFork(page);
  const link = page.getByRole('link', { name: /^Forked from .* at turn \d+$/ });
  await link.waitFor();
  await expect.poll(() => asked(page).allTextContents()).toEqual(['echo apples']);
  await page.locator('.session.open .forked').waitFor();
  await say(page, 'echo plums', 2);
  expect(await answers(page).last().textContent()).toContain('plums');
  expect(await axeViolations(page)).toEqual([]);
  await keepScreenshot(page, 'fork');

  await link.click();
  await expect.poll(() => asked(page).allTextContents()).toEqual(['echo apples', 'echo pears']);
  await page.locator('.message.user').nth(1).hover();
  await page.getByRole('button', { name: 'Fork before this message' }).click();
  await isFork(page);
  await expect.poll(() => field(page).inputValue()).toBe('echo pears');
  await expect.poll(() => asked(page).allTextContents()).toEqual(['echo apples']);

  await page.goto(main.replace(/#.*/, '') + '#view=actors&item=default/session/agent:main:main');
  await page.getByRole('slider', { name: 'Turn shown' }).waitFor();
  await keepScreenshot(page, 'fork-actor');
  await page.getByRole('button', { name: 'Fork here' }).click();
  await isFork(page);
  await expect.poll(() => asked(page).allTextContents()).toEqual(['echo apples', 'echo pears']);
  expect(errors).toEqual([]);
}, 60_000);
