/** The actors of a real program in the page: the tree, one actor live, and ten thousand of them. */
import type { Locator, Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { install } from '../../agent-runs/installation.ts';
import { TOKEN } from '../../channels/gateway/client.ts';
import { axeViolations } from '../axe.ts';
import { chromiumPath } from '../chromium.ts';
import { keepScreenshot, openView, startRealProgram, useRealProgram } from '../real-program.ts';
import { LOOKS, say, useBrowser } from '../web-world.ts';

const browser = useBrowser();
/** Its main session has answered once. Tests that leave another session behind start their own. */
const shared = useRealProgram();

const MAIN = 'default/session/agent:main:main';

const answersIn = (page: Page) => page.locator('.message.agent[aria-busy=false]');
/** Resolves when the text is answered; earlier answers are shown already. */
const ask = async (page: Page, text: string) => {
  const before = await answersIn(page).count();
  await say(page, text);
  await answersIn(page).nth(before).waitFor();
};
const isActive = (page: Page, state: string) =>
  page.locator(`.statechart .state.active[data-state="${state}"]`).waitFor();
/** Resolves when the chart has a view that no longer moves. */
const settledView = async (chart: Locator): Promise<string> => {
  let last: string | null = null;
  await expect
    .poll(
      async () => {
        const before = last;
        last = await chart.getAttribute('viewBox');
        return last !== null && last === before;
      },
      { interval: 200 },
    )
    .toBe(true);
  return last!;
};

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  const { page } = await openView(browser(), shared(), '');
  await ask(page, 'Hello, who are you?');
  await page.context().close();
}, 60_000);

test('an actor shows its chart lit, its turns as they come, and a past turn', async () => {
  const chat = await openView(browser(), shared(), '');
  await answersIn(chat.page).first().waitFor();
  const { page, errors } = await openView(browser(), shared(), '');
  await page.getByRole('link', { name: 'Actors' }).click();
  await page.getByRole('searchbox').fill('session idle');
  await page.getByRole('treeitem', { name: /agent:main:main/ }).click();
  expect(new URLSearchParams(new URL(page.url()).hash.slice(1)).get('item')).toBe(MAIN);
  await isActive(page, 'idle');
  await page.getByText('It waits for a message.').waitFor();
  const turns = page.locator('.turn-list li');
  await turns.first().waitFor();
  const before = await turns.count();
  await ask(chat.page, 'call calculate {"expression": "6*7"}');
  await turns.nth(before + 2).waitFor();
  await page.locator('.statechart .edge.taken').first().waitFor({ state: 'attached' });
  await page.getByRole('slider').focus();
  await page.keyboard.press('Home');
  await page.getByText('A past turn is shown.').waitFor();
  await isActive(page, 'running');
  await page.getByRole('button', { name: 'Live' }).click();
  await isActive(page, 'idle');
  await page.reload();
  await isActive(page, 'idle');
  expect(await page.getByRole('searchbox').inputValue()).toBe('session idle');
  expect(errors).toEqual([]);
}, 120_000);

test('an operator quarantines an actor with a reason, and lets it continue', async () => {
  const { page, errors } = await openView(
    browser(),
    shared(),
    `actors&item=${encodeURIComponent(MAIN)}`,
  );
  await page.getByRole('button', { name: 'Quarantine', exact: true }).click();
  await page.getByRole('textbox', { name: 'Reason' }).fill('it repeats itself');
  await page.keyboard.press('Enter');
  await page.getByText('It is quarantined: it repeats itself. An operator has to act.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await keepScreenshot(page, 'actor-quarantined');
  await page.getByRole('button', { name: 'Resume', exact: true }).click();
  await page.getByText('It waits for a message.').waitFor();
  await page.getByRole('button', { name: 'Quarantine', exact: true }).waitFor();
  expect(errors).toEqual([]);
}, 120_000);

test('an operator pauses an actor, sends it an event by hand, and resumes it', async () => {
  const program = await startRealProgram();
  const chat = await openView(browser(), program, '');
  await ask(chat.page, 'Hello, who are you?');
  const { page, errors } = await openView(
    browser(),
    program,
    `actors&item=${encodeURIComponent(MAIN)}`,
    { viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
  );
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await page.getByRole('textbox', { name: 'Reason' }).fill('a repair');
  await page.keyboard.press('Enter');
  await page.getByText('It is paused: a repair.').waitFor();
  await page.getByText('Send an event').click();
  await page.getByLabel('Type of the event').fill('session.reset');
  await page.getByLabel('Other fields, as JSON').fill('{"reason": "by hand"}');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText(/^Stored as/).waitFor();
  const turns = page.locator('.turn-list li');
  await turns.filter({ hasText: 'session.reset' }).filter({ hasText: 'stashed' }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
  await keepScreenshot(page, 'actor-paused-phone');
  await page.getByRole('button', { name: 'Resume', exact: true }).click();
  await page.getByRole('button', { name: 'Pause', exact: true }).waitFor();
  await page.getByLabel('Other fields, as JSON').fill('{');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.locator('.send-event [role=alert]').waitFor();
  expect(errors).toEqual([]);
}, 120_000);

test('an operator cancels the effect of an actor, which goes on', async () => {
  const program = await startRealProgram();
  const chat = await openView(browser(), program, '');
  await chat.page
    .getByRole('textbox', { name: 'Message' })
    .fill('call exec {"command": "sleep 90"}');
  await chat.page.keyboard.press('Enter');
  const { page } = await openView(browser(), program, `actors&item=${encodeURIComponent(MAIN)}`);
  await page.getByText(/^It waits for the approval .*sleep 90/).waitFor();
  await page.getByRole('link', { name: 'Show approvals' }).waitFor();
  await chat.page.getByRole('button', { name: 'Allow once' }).click();
  const effect = page.locator('.actor-effects li').filter({ hasText: /runs, attempt 1/ });
  await effect.getByRole('button', { name: 'Cancel effect' }).click();
  await effect.getByRole('textbox', { name: 'Reason' }).fill('it sleeps');
  await keepScreenshot(page, 'actor-effect');
  expect(await axeViolations(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await page.getByText('It waits for a message.').waitFor();
}, 120_000);

test('the chart is used by keys, and read as a tree', async () => {
  const { page } = await openView(browser(), shared(), `actors&item=${encodeURIComponent(MAIN)}`, {
    viewport: { width: 1_920, height: 1_080 },
  });
  await isActive(page, 'idle');
  const chart = page.getByRole('application', { name: /Statechart of session/ });
  const before = await settledView(chart);
  await chart.focus();
  await page.keyboard.press('+');
  await expect.poll(() => chart.getAttribute('viewBox')).not.toBe(before);
  await page.keyboard.press('0');
  await expect.poll(() => chart.getAttribute('viewBox')).toBe(before);
  await page.getByRole('button', { name: '2 levels of states' }).click();
  await page.locator('[data-state="running.admitting"]').first().waitFor();
  await page.getByRole('button', { name: 'Outline' }).click();
  const tree = page.getByRole('tree', { name: 'States of session' });
  const idle = tree.getByRole('treeitem', { name: 'idle', exact: true });
  expect(await idle.getAttribute('aria-current')).toBe('true');
  await tree.getByRole('treeitem').first().focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByText('No run is active').first().waitFor();
}, 120_000);

test('two fingers scale the chart, and the turns of an actor are erased', async () => {
  const program = await startRealProgram();
  const chat = await openView(browser(), program, '');
  await say(chat.page, 'Hello, who are you?');
  const { page, errors } = await openView(
    browser(),
    program,
    `actors&item=${encodeURIComponent(MAIN)}`,
    { viewport: { width: 390, height: 844 }, hasTouch: true },
  );
  await isActive(page, 'idle');
  const chart = page.getByRole('application', { name: /Statechart of session/ });
  const box = (await chart.boundingBox())!;
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const widthOf = async () => Number((await settledView(chart)).split(' ')[2]);
  const before = await widthOf();
  const touches = await page.context().newCDPSession(page);
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...apart: number[]) =>
    touches.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: apart.flatMap((px) => [
        { x: x - px, y, id: 0 },
        { x: x + px, y, id: 1 },
      ]),
    });
  await touch('touchStart', 20);
  for (const px of [30, 45, 60]) await touch('touchMove', px);
  await touch('touchEnd');
  await expect.poll(widthOf).toBeLessThan(before);

  await page.locator('.turn-list li').first().waitFor();
  await page.getByRole('button', { name: 'Erase history' }).click();
  await page.getByRole('button', { name: 'Erase history' }).click();
  await page.getByText('Its turns appear here as they are committed.').waitFor();
  expect(await axeViolations(page)).toEqual([]);
  expect(errors).toEqual([]);
}, 120_000);

test('the views of actors are legible, without accessibility errors, in both schemes, wide and on a phone', async () => {
  for (const { name, ...look } of LOOKS) {
    const { page, errors } = await openView(browser(), shared(), 'actors', look);
    await page.getByRole('treeitem', { name: /agent:main:main/ }).waitFor();
    const ofTree = await axeViolations(page);
    await keepScreenshot(page, `actors-${name}`);
    await page.getByRole('treeitem', { name: /agent:main:main/ }).click();
    await isActive(page, 'idle');
    const ofActor = await axeViolations(page);
    await keepScreenshot(page, `actor-${name}`);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBeLessThanOrEqual(look.viewport.width);
    expect({ name, errors, ofTree, ofActor }).toEqual({
      name,
      errors: [],
      ofTree: [],
      ofActor: [],
    });
    await page.context().close();
  }
}, 240_000);

test('beside a conversation, the statechart follows the answer', async () => {
  const { page, errors } = await openView(browser(), shared(), '', LOOKS[0]);
  await answersIn(page).first().waitFor();
  await page.getByRole('button', { name: 'Statechart' }).click();
  await isActive(page, 'idle');
  await ask(page, 'call calculate {"expression": "6*7"}');
  await page.locator('.statechart .edge.taken').first().waitFor({ state: 'attached' });
  await isActive(page, 'idle');
  await keepScreenshot(page, 'session-chart-wide-light');
  await page.reload();
  await isActive(page, 'idle');
  await page.getByRole('button', { name: 'Hide statechart' }).click();
  await page.locator('.statechart').waitFor({ state: 'detached' });
  expect(errors).toEqual([]);
}, 120_000);

test('ten thousand actors scroll with as many rows in the document as fit', async () => {
  const { url, system } = await install({ config: {} });
  const counters = Array.from({ length: 10_000 }, (_, n) => address('default', 'counter', `n${n}`));
  const event = { type: 'conformance.count_call', task_id: 't' };
  const options = { principal: { sub: 'ada', roles: ['operator'] } };
  for (let n = 0; n < counters.length; n += 500)
    await Promise.all(
      counters.slice(n, n + 500).map((counter) => system.tell(counter, event, options)),
    );
  const page = await browser().newPage({ locale: 'en-US' });
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.goto(`${url}#token=${TOKEN}&view=actors&type=counter`);
  await page.getByText(/10000 actors|10000 of/).waitFor();
  const tree = page.getByRole('tree', { name: 'Actors' });
  const rows = tree.getByRole('treeitem');
  await tree.focus();
  const most: number[] = [];
  for (const key of ['PageDown', 'PageDown', 'End', 'PageUp', 'Home', 'End']) {
    await page.keyboard.press(key);
    most.push(await rows.count());
  }
  expect(Math.max(...most)).toBeLessThan(60);
  await tree.getByRole('treeitem', { name: /n9999/ }).waitFor();
  expect(errors).toEqual([]);
}, 120_000);
