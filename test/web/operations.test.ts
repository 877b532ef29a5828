/** The views of operations on the real program: what they show, do, and look like. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { write } from '../runtime/config/folder.ts';
import { axeViolations } from './axe.ts';
import { chromiumPath } from './chromium.ts';
import { keepScreenshot, openView, startRealProgram, useRealProgram } from './real-program.ts';
import { LOOKS, say, useBrowser } from './web-world.ts';

const browser = useBrowser();
/**
 * Filled once with what `seed` makes: most tests only look at it, one decides and removes what
 * waits. With hooks, which the view of agents names.
 */
const program = useRealProgram((data) =>
  write(
    data,
    'hooks/guard.mjs',
    `export default {
    name: 'guard',
    hooks: { before_tool_call: () => undefined, agent_end: () => undefined },
  };`,
  ),
);

const soon = { timeout: 15_000 };

/** Each with a text that shows that it has been read. */
const VIEWS = {
  runs: /^main:main$/,
  tasks: /No tasks/,
  calls: /No calls/,
  approvals: /rm -r build/,
  schedules: /pulse/,
  'dead-letters': /No dead letters/,
  devices: /No devices/,
  usage: /Tokens today/,
  agents: /offline\/troupe-offline/,
  memory: /memory\/2026-01-05\.md/,
  'audit&find=schedules.set': /schedules\.set/,
  cluster: /Actors in memory/,
  settings: /Effective configuration/,
} as const;

/** A schedule, notes, a run that ended, and one that waits for an approval. */
const seed = async (page: Page) => {
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  await say(page, 'Hello, who are you?');
  await page.locator('.message.agent[aria-busy=false]').waitFor();
  const content = `# Home\n\n${'Nothing of note.\n'.repeat(30)}\n# Pets\n\nThe cat is called Mochi.\n`;
  await say(page, `call write ${JSON.stringify({ path: 'memory/2026-01-05.md', content })}`);
  await page.locator('.message.agent[aria-busy=false]').nth(1).waitFor();
  await say(page, 'call exec {"command": "rm -r build"}');
  await page.locator('.approval').waitFor();
  await page.getByRole('link', { name: 'Schedules' }).click();
  await page.getByRole('button', { name: 'New schedule' }).click();
  await page.getByLabel('Message that the agent receives').fill('pulse: look at the notes');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('link', { name: /pulse/ }).waitFor();
};

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  const { page, errors } = await openView(browser(), program(), '');
  await seed(page);
  if (errors.length > 0) throw new Error(errors.join('\n'));
  await page.context().close();
}, 60_000);

test('every view is legible, without accessibility errors, in both schemes, wide and on a phone', async () => {
  for (const { name, ...look } of LOOKS) {
    const { page, errors } = await openView(browser(), program(), 'tasks', look);
    for (const [view, text] of Object.entries(VIEWS)) {
      await page.evaluate((hash) => location.assign(hash), `#view=${view}`);
      await page.locator('.view').getByText(text).first().waitFor();
      expect({ view, name, violations: await axeViolations(page) }).toEqual({
        view,
        name,
        violations: [],
      });
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width).toBeLessThanOrEqual(look.viewport.width);
      await keepScreenshot(page, `${view.replace(/&.*/, '')}-${name}`);
    }
    expect(errors).toEqual([]);
    await page.context().close();
  }
}, 240_000);

test('notes are listed, found, and opened at their lines', async () => {
  const { page, errors } = await openView(browser(), program(), '');
  await page.getByRole('link', { name: 'Memory' }).click();
  await page.getByRole('button', { name: 'memory/2026-01-05.md' }).waitFor();
  await page.getByRole('searchbox').fill('what is the cats name');
  await page.keyboard.press('Enter');
  await page.getByText('1 note, 2 chunks, by words').waitFor();
  await keepScreenshot(page, 'memory-found');
  await page.getByRole('button', { name: /^memory\/2026-01-05\.md#L3\d-L3\d$/ }).click();
  const marked = page.locator('.pane mark');
  await expect.poll(() => marked.textContent(), soon).toContain('The cat is called Mochi.');
  expect(await marked.isVisible()).toBe(true);
  await keepScreenshot(page, 'memory-note');
  const address = page.url();
  await page.keyboard.press('Escape');
  await expect.poll(() => page.locator('.pane').count(), soon).toBe(0);
  await page.goto(address);
  await expect.poll(() => marked.textContent(), soon).toContain('Mochi');
  await page.getByRole('searchbox').fill('xylophone');
  await page.keyboard.press('Enter');
  await page.getByText('No note was found.').waitFor();
  expect(errors).toEqual([]);
}, 120_000);

test('a list filters, sorts and opens by the address, and by the keyboard', async () => {
  const { page } = await openView(browser(), program(), '');
  await page.getByRole('link', { name: 'Audit' }).click();
  const rows = page.getByRole('list', { name: 'Audit' }).getByRole('listitem');
  await rows.first().waitFor();
  await page.getByRole('searchbox').fill('schedules.set done');
  const again = page.getByRole('button', { name: 'Read the list again' });
  const found = () => again.click().then(() => rows.count());
  await expect.poll(found, soon).toBe(1);
  await page.getByRole('button', { name: 'Time', exact: true }).click();
  await rows.first().getByRole('link').focus();
  await page.keyboard.press('Enter');
  await page.getByRole('complementary', { name: 'Details' }).waitFor();
  const params = new URLSearchParams(new URL(page.url()).hash.slice(1));
  expect(Object.fromEntries(params)).toEqual({
    view: 'audit',
    find: 'schedules.set done',
    sort: 'Time',
    item: expect.any(String),
  });
  // The same after a reload; Escape closes the details, and "back" opens them again.
  await page.reload();
  await page.getByRole('complementary', { name: 'Details' }).getByText('Done').waitFor();
  await page.getByRole('heading', { name: 'schedules.set' }).focus();
  await page.keyboard.press('Escape');
  await page.getByRole('complementary').waitFor({ state: 'detached' });
  await page.goBack();
  await page.getByRole('complementary', { name: 'Details' }).waitFor();
}, 90_000);

test('an approval and a schedule are decided, run and removed where they are shown', async () => {
  const { page } = await openView(browser(), program(), '');
  await page.getByRole('link', { name: /^Approvals.*1 waits for you/ }).click();
  await page.getByRole('link', { name: /rm -r build/ }).click();
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByText('Nothing waits for you').waitFor();

  await page.getByRole('link', { name: 'Schedules' }).click();
  await page.getByRole('link', { name: /pulse/ }).click();
  await page.getByRole('button', { name: 'Run now' }).click();
  const details = page.getByRole('complementary', { name: 'Details' });
  await details.getByRole('link', { name: 'Show run' }).click();
  await page.getByRole('img', { name: 'Timeline' }).waitFor();
  await page.getByRole('listitem').filter({ hasText: 'Model' }).first().waitFor();
  await keepScreenshot(page, 'run');
  expect(await axeViolations(page)).toEqual([]);
  await page.goBack();
  await details.getByRole('button', { name: 'Remove' }).click();
  await details.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('No schedules').waitFor();
}, 90_000);

test('a run shows its effects with their times, and who approved its command', async () => {
  const own = await startRealProgram();
  const { page, errors } = await openView(browser(), own, '');
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  await say(page, 'call exec {"command": "rm -r build"}');
  await page.getByRole('button', { name: 'Allow once' }).click();
  const answer = page.locator('.message.agent[aria-busy=false]').last();
  await answer.hover();
  await answer.getByRole('link', { name: 'Show run' }).click();
  await page.getByText(/Allow once, .+, after/).waitFor();
  await page.getByRole('link', { name: 'rm -r build' }).waitFor();
  const bars = page.locator('.timeline .bar title');
  await expect
    .poll(() => bars.allTextContents(), soon)
    .toEqual(expect.arrayContaining([expect.stringMatching(/^callOnce, attempt 1, \d+/)]));
  await keepScreenshot(page, 'run-approval');
  expect(await axeViolations(page)).toEqual([]);
  expect(errors).toEqual([]);
}, 90_000);

test('a view is in Vietnamese for a Vietnamese browser', async () => {
  const { page } = await openView(browser(), program(), 'dead-letters', { locale: 'vi-VN' });
  await page.getByText('Không có thư hỏng').waitFor();
  expect(await page.getByRole('link', { name: 'Lịch chạy' }).count()).toBe(1);
  await keepScreenshot(page, 'dead-letters-vi');
  // Bug: the objectives were in the English of the gateway.
  await page.evaluate(() => location.assign('#view=cluster'));
  await page.getByText('số thư hỏng trên mỗi công việc').waitFor();
  expect(await page.getByText(/95 of 100|dead letters/).count()).toBe(0);
}, 60_000);

test('an agent shows its tools, and the hooks that its runs call', async () => {
  const { page, errors } = await openView(browser(), program(), 'agents&item=main');
  const details = page.getByRole('complementary', { name: 'Details' });
  await details.getByText('before_tool_call').waitFor();
  await details.getByText('agent_end').waitFor();
  await details.getByText('sessions_spawn').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  expect(errors).toEqual([]);
}, 60_000);
