/** The view of channels: a real program that a local Bot API server sends messages to. */
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { startTelegramServer, type TelegramBot } from '../servers/telegram-server.ts';
import { axeViolations } from './axe.ts';
import { keepScreenshot, openView, startRealProgram } from './real-program.ts';
import { LOOKS, useBrowser } from './web-world.ts';

const browser = useBrowser();
const soon = { timeout: 20_000 };

/** A program with a bot that works, and one whose token was revoked. */
const startWithBots = async () => {
  const server = await startTelegramServer();
  onTestFinished(() => server.close());
  const [bot, revoked] = [server.addBot('helper_bot'), server.addBot('old_bot')];
  revoked.isRevoked = true;
  const account = ({ token }: TelegramBot) => ({ token, apiUrl: server.apiUrl });
  const accounts = { main: account(bot), old: account(revoked) };
  const data = scratchFolder();
  write(data, 'troupe.json5', JSON.stringify({ channels: { telegram: { accounts } } }));
  return { bot, revoked, program: await startRealProgram(data) };
};

const details = (page: Page) => page.getByRole('complementary', { name: 'Details' });
const request = (page: Page) => page.getByRole('group', { name: /May Pat \(42\) write/ });

test('a sender who asks is approved and answered, and then revoked, without a mouse', async () => {
  const { bot, program } = await startWithBots();
  const { page, errors } = await openView(browser(), program, '');
  await page.getByRole('link', { name: 'Channels' }).press('Enter');
  await page.getByRole('link', { name: /telegram:main.*Connected.*helper_bot/ }).waitFor();
  bot.receive({ text: 'hello' });
  const approve = request(page).getByRole('button', { name: 'Approve' });
  await approve.waitFor();
  const code = await request(page).locator('code').textContent();
  await expect.poll(() => bot.shown(42).map(({ text }) => text), soon).toHaveLength(1);
  expect(bot.shown(42)[0]!.text).toContain(code);
  await approve.press('Enter');
  await request(page).waitFor({ state: 'detached' });
  bot.receive({ text: 'who are you?' });
  await expect.poll(() => bot.shown(42).length, soon).toBeGreaterThan(1);

  await page.getByRole('link', { name: /telegram:main/ }).press('Enter');
  await details(page).getByText('Messages arrive.').waitFor();
  await details(page).getByText('the sender is not approved: 1').waitFor();
  await details(page).getByText('Pat (42)').waitFor();
  await details(page).getByRole('button', { name: 'Revoke' }).press('Enter');
  await details(page).getByRole('button', { name: 'Revoke' }).press('Enter');
  await details(page).getByText('No sender was approved by a code').waitFor();
  bot.receive({ text: 'and now?' });
  await request(page).getByRole('button', { name: 'Reject' }).press('Enter');
  await request(page).waitFor({ state: 'detached' });
  expect(errors).toEqual([]);
}, 120_000);

test('an account whose token is refused says what to do, and connects after a restart', async () => {
  const { revoked, program } = await startWithBots();
  const { page } = await openView(browser(), program, 'channels&item=telegram%3Aold');
  await details(page).getByText('Telegram refused the token').waitFor();
  revoked.isRevoked = false;
  await details(page).getByRole('button', { name: 'Restart' }).click();
  await details(page).getByText('Messages arrive.').waitFor();
  expect(await details(page).getByText('Telegram refused the token').count()).toBe(0);
}, 90_000);

test('the channels are legible, without accessibility errors, in both schemes, wide and on a phone', async () => {
  const { bot, program } = await startWithBots();
  for (const { name, ...look } of LOOKS) {
    const { page, errors } = await openView(browser(), program, 'channels', look);
    await page.getByRole('link', { name: /telegram:main.*Connected/ }).waitFor();
    // A bot reads what is written after its first connection.
    bot.receive({ text: 'hello' });
    await request(page).waitFor();
    expect({ name, violations: await axeViolations(page) }).toEqual({ name, violations: [] });
    await keepScreenshot(page, `channels-${name}`);
    await page.getByRole('link', { name: /telegram:old/ }).click();
    await details(page).getByText('Telegram refused the token').waitFor();
    expect({ name, violations: await axeViolations(page) }).toEqual({ name, violations: [] });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBeLessThanOrEqual(look.viewport.width);
    await keepScreenshot(page, `channel-${name}`);
    expect(errors).toEqual([]);
    await page.context().close();
  }
}, 120_000);

test('without accounts the page says, in Vietnamese for a Vietnamese browser, how to add one', async () => {
  const program = await startRealProgram();
  const { page } = await openView(browser(), program, 'channels', { locale: 'vi-VN' });
  await page.getByText('Chưa có tài khoản nhắn tin nào').waitFor();
  await page.getByText('npx troupe channels add').waitFor();
  expect(await axeViolations(page)).toEqual([]);
}, 60_000);
