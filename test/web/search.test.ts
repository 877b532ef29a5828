/** The search of the page: titles of conversations, and a jump to a message that was found. */
import { expect, test } from 'vitest';
import { install } from '../agent-runs/installation.ts';
import { TOKEN } from '../channels/gateway/client.ts';
import { operatorOf } from '../operations/operator.ts';
import { axeViolations } from './axe.ts';
import { keepScreenshot } from './real-program.ts';
import { useBrowser } from './web-world.ts';

const browser = useBrowser();

const KEY = 'agent:main:garden';
/** More messages than the page reads at once. */
const RUNS = 120;

test('a search jumps to an old message, and a conversation is named by its first one', async () => {
  const troupe = await install({ config: {} });
  await troupe.run(KEY, 'echo plant the needle tree');
  for (let n = 1; n < RUNS; n++) await troupe.run(KEY, `echo message ${n}`);
  const page = await browser().newPage({ locale: 'en-US', colorScheme: 'dark' });
  page.setDefaultTimeout(15_000);
  await page.goto(`${troupe.url}#token=${TOKEN}`);
  const list = page.getByRole('navigation', { name: 'Conversations' });
  await list.getByText('echo plant the needle tree').waitFor();
  await page.getByRole('searchbox').fill('needle');
  const found = page.getByRole('region', { name: /messages/i }).getByRole('link');
  await found.last().click();
  const message = page.locator('.message.found');
  await message.waitFor();
  expect(await message.textContent()).toContain('needle');
  await expect
    .poll(() =>
      message.evaluate((element) => {
        const { top, bottom } = element.getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight;
      }),
    )
    .toBe(true);
  await keepScreenshot(page, 'search-jump-dark');
  expect(await axeViolations(page)).toEqual([]);
}, 120_000);

test('a conversation keeps its title until it is reset', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  const title = async () =>
    (await call('sessions.show', { key: KEY })).derivedTitle as string | undefined;
  await troupe.run(KEY, 'echo first');
  await troupe.run(KEY, 'echo second');
  expect(await title()).toBe('echo first');
  await call('sessions.reset', { key: KEY });
  expect(await title()).toBeUndefined();
  await troupe.run(KEY, 'echo third');
  expect(await title()).toBe('echo third');
});

test('the tools of a conversation say whether its commands are sandboxed', async () => {
  const config = { agents: { defaults: { sandbox: { mode: 'always' } } } } as const;
  const troupe = await install({ config });
  await troupe.run(KEY, 'echo hello');
  const page = await browser().newPage({ locale: 'vi-VN', viewport: { width: 360, height: 740 } });
  page.setDefaultTimeout(15_000);
  await page.goto(`${troupe.url}#token=${TOKEN}&session=${encodeURIComponent(KEY)}`);
  await page.getByText(/hộp cát, \d+ công cụ/).click();
  await page.locator('.session-bar li').first().waitFor();
  expect(await axeViolations(page)).toEqual([]);
});
