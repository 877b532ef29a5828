/** The page opens the replay file of a failing simulation, with the turns of its actors. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkBill, mistakenBill } from '../../examples/testing/double-charge.ts';
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
  expect(await axeViolations(page)).toEqual([]);

  const other = join(folder, 'other.json');
  writeFileSync(other, '{"format":"something else"}');
  await open.setInputFiles(other);
  await replay.getByRole('alert').waitFor();
  await replay.getByRole('button', { name: 'All actors' }).click();
  await page.getByText('Select an actor').waitFor();
}, 180_000);
