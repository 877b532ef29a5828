/** Files that an agent sends to a conversation: named once in the page, and downloaded from it. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { install } from '../agent-runs/installation.ts';
import { TOKEN } from '../channels/gateway/client.ts';
import { axeViolations } from './axe.ts';
import { useBrowser } from './web-world.ts';

const browser = useBrowser();
const KEY = 'agent:main:main';
const REPORT = 'quý một: 42\n';
const BYTES = Buffer.byteLength(REPORT);
const files = { 'báo cáo.txt': REPORT, 'rows.csv': 'a,b\n' };
const send = 'call message {"text":"Here is the report.","files":["báo cáo.txt","rows.csv"]}';

test('the page shows the files of a message and downloads them', async () => {
  const troupe = await install({ config: {}, files });
  await troupe.run(KEY, send);
  const page = await browser().newPage({ locale: 'en-US' });
  page.setDefaultTimeout(15_000);
  await page.goto(`${troupe.url}#token=${TOKEN}`);
  const message = page.locator('.message.agent', { hasText: 'Here is the report.' });
  await message.waitFor();
  expect(await message.locator('.rich').textContent()).toBe('Here is the report.');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    message.getByRole('button', { name: `Download báo cáo.txt (${BYTES} byte)` }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('báo cáo.txt');
  expect(await readFile(await download.path(), 'utf8')).toBe(REPORT);
  await message.getByRole('button', { name: 'Download rows.csv' }).waitFor();
  expect(await axeViolations(page)).toEqual([]);
}, 60_000);
