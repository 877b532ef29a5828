/** The page opens the replay file of a failing simulation, with the turns of its actors. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkBill, mistakenBill } from '../../examples/testing/double-charge.ts';
import type { SimulationReplay } from '../../library/simulation/failure.ts';
import { replayOf } from '../../web/actors/replay-file.ts';
import { install } from '../agent-runs/installation.ts';
import { TOKEN } from '../channels/gateway/client.ts';
import { axeViolations } from './axe.ts';
import { keepScreenshot } from './real-program.ts';
import { useBrowser } from './web-world.ts';

const browser = useBrowser();

test('a replay file of a simulation shows its turns, and another file is refused', async () => {
  const { failure } = await checkBill(mistakenBill, { seed: 1, runs: 300, print: () => {} });
  const folder = mkdtempSync(join(tmpdir(), 'troupe-replay-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [, , file = ''] = failure!.save(folder);
  const troupe = await install({ config: {} });
  const page = await browser().newPage({ locale: 'en-US', colorScheme: 'dark' });
  page.setDefaultTimeout(30_000);
  await page.goto(`${troupe.url}#view=actors&token=${TOKEN}`);
  const open = page.getByLabel('Open a replay file');
  // Bug: the bare file control was wider than the list of actors, and than a phone.
  await page.setViewportSize({ width: 360, height: 800 });
  await page.getByText('Open a replay file').waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  await open.focus();
  expect(
    await page.locator('main .pick-file').evaluate((label) => getComputedStyle(label).outlineWidth),
  ).toBe('2px');
  await page.setViewportSize({ width: 1280, height: 800 });
  await open.setInputFiles(file);

  const replay = page.getByRole('region', { name: 'Replay file' });
  await replay.getByRole('heading', { name: failure!.rule }).waitFor();
  const turns = replay.locator('.turn-list > li');
  const count = await turns.count();
  expect(count).toBeGreaterThan(1);
  expect(await replay.locator('pre').textContent()).toBe(failure!.history.join('\n'));
  await turns.last().getByRole('button').click();
  expect(await turns.last().getAttribute('aria-current')).toBe('true');
  await replay.getByRole('button', { name: 'Last turn' }).click();
  expect(await turns.first().getAttribute('aria-current')).toBe('true');
  await keepScreenshot(page, 'replay-file-dark');
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  await keepScreenshot(page, 'replay-file-phone');
  await page.setViewportSize({ width: 1280, height: 800 });
  expect(await axeViolations(page)).toEqual([]);

  const other = join(folder, 'other.json');
  writeFileSync(other, '{"format":"something else"}');
  await open.setInputFiles(other);
  await replay.getByRole('alert').waitFor();
  const close = async () => {
    await replay.getByRole('button', { name: 'All actors' }).click();
    await page.getByText('Select an actor').waitFor();
  };
  await close();
  // Again: a browser reports a file that is still selected as no change.
  await open.setInputFiles(other);
  await replay.getByRole('alert').waitFor();
  await close();

  // Its texts are text, and a long history does not stop the page.
  const html = `<img src=x onerror="document.title='pwned'">`;
  const hostile = { ...(JSON.parse(failure!.replay) as SimulationReplay), why: html };
  const history = Array.from({ length: 100_000 }, () => html.repeat(10));
  writeFileSync(other, JSON.stringify({ ...hostile, history }));
  await open.setInputFiles(other);
  await replay.getByText(html, { exact: true }).waitFor();
  expect((await replay.locator('pre').textContent())!.length).toBeLessThan(300_000);
  expect(await page.title()).not.toBe('pwned');
}, 180_000);

const turn = { turn: 1, at: 0, input: 'pay', result: 'applied', sent: [], opened: [], ended: [] };
const fileOf = (change: object, turnChange: object = {}) =>
  JSON.stringify({
    format: 'troupe-simulation',
    seed: 1,
    rule: 'r',
    why: 'w',
    history: [],
    turns: [{ actor: 'default/bill/1', turns: [{ ...turn, ...turnChange }] }],
    ...change,
  });

test('a whole replay file is read', () => {
  const state = { paying: { card: 'waiting' } };
  expect(replayOf(fileOf({}, { state }))?.turns[0]?.turns).toEqual([{ ...turn, state }]);
});

test.each([
  ['no JSON', 'seed 1'],
  ['nothing', ''],
  ['null', 'null'],
  ['another format', fileOf({ format: 'other' })],
  ['no turns, as older files', fileOf({ turns: undefined })],
  ['no actors', fileOf({ turns: [] })],
  ['an actor that is null', fileOf({ turns: [null] })],
  ['a turn that is null', fileOf({ turns: [{ actor: 'a', turns: [null] }] })],
  ['a history that is no text', fileOf({ history: [{}] })],
  ['a time that is none', fileOf({}, { at: 1e300 })],
  ['messages that are missing', fileOf({}, { sent: undefined })],
  ['a state that is null', fileOf({}, { state: { a: null } })],
  [
    'a state that is too deep',
    fileOf({}).replace('"at":0', `"at":0,"state":${'{"a":'.repeat(1e5)}"b"${'}'.repeat(1e5)}`),
  ],
])('a replay file is refused: %s', (_, text) => {
  expect(replayOf(text)).toBeUndefined();
});
