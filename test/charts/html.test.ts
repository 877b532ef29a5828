/** The exported page in a real browser, offline: readable without troupe. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { shippedActors } from '../../actors/index.ts';
import { exportHtml, exportSvg } from '../../runtime/statechart/picture/export-picture.ts';
import { chromiumPath, NO_CHROMIUM, openChromium } from '../web/chromium.ts';

const folder = mkdtempSync(join(tmpdir(), 'troupe-charts-'));
let browser: Awaited<ReturnType<typeof openChromium>> | undefined;
beforeAll(async () => {
  if (chromiumPath !== undefined) browser = await openChromium();
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

const machines = shippedActors().map(({ type, machine }) => ({ name: type, machine }));

it('the exported page shows the chart of its address, its levels, and the chosen state', async (context) => {
  if (!browser) return context.skip(NO_CHROMIUM);
  const file = join(folder, 'charts.html');
  writeFileSync(file, await exportHtml(machines));
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on('pageerror', ({ message }) => faults.push(message));
  page.on('request', (request) => {
    if (!request.url().startsWith('file:')) faults.push(request.url());
  });
  await page.goto(`${pathToFileURL(file).href}#session`);
  await page.getByRole('button', { name: '2 levels' }).click();
  const chart = page.locator('main:visible');
  await chart.locator('figure:visible [data-state="running.admitting"] text').first().click();
  await chart
    .getByRole('complementary')
    .getByText('Waits until the agent admits the run.')
    .waitFor();
  await page.getByLabel('Chart').selectOption('task');
  await page.locator('main[data-chart="task"]').waitFor();
  expect(await page.locator('main:visible').count()).toBe(1);
  expect(faults).toEqual([]);
});

it('every text of an exported SVG is inside of its box, in the fonts of this machine', async (context) => {
  if (!browser) return context.skip(NO_CHROMIUM);
  const page = await browser.newPage();
  for (const { name, machine } of machines) {
    const file = join(folder, `${name}.svg`);
    writeFileSync(file, await exportSvg(machine, name));
    await page.goto(pathToFileURL(file).href);
    const outside = await page.locator('svg').evaluate((svg) =>
      [...svg.querySelectorAll<SVGGElement>('.state, .label')].flatMap((group) => {
        const box = group.querySelector('rect')!.getBBox();
        return [...group.querySelectorAll('text')]
          .filter((text) => {
            const { x, width } = text.getBBox();
            return x < box.x - 1 || x + width > box.x + box.width + 1;
          })
          .map((text) => text.textContent);
      }),
    );
    expect({ name, outside }).toEqual({ name, outside: [] });
  }
}, 60_000);
