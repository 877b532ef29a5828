/** The pages of reports: they load nothing, escape what comes from outside, and fit a phone. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportText } from '../../cli/bench/report-text.ts';
import { compareReports } from '../../loadtest/report/compare.ts';
import { comparisonPage } from '../../loadtest/report/compare-html.ts';
import { reportPage } from '../../loadtest/report/html.ts';
import type { LoadReport } from '../../loadtest/report.ts';
import { chromiumPath, NO_CHROMIUM, openChromium } from '../web/chromium.ts';
import { loadReport } from './reports.ts';

const HOSTILE = `"><img src=x onerror="document.title='pwned'"><script>document.title='pwned'</script>`;

function hostile(): LoadReport {
  const report = loadReport({
    label: HOSTILE,
    seconds: 6,
    rates: [50, 100],
    errorShare: 0.1,
    mix: { [HOSTILE]: 0.5, chat: 0.5 },
    objectives: [{ figure: 'p99', atMost: 0.1, workload: HOSTILE }],
  });
  report.target.url = HOSTILE;
  report.command = HOSTILE;
  report.plan.model = HOSTILE;
  report.machine.cpu = HOSTILE;
  for (const step of report.steps) {
    step.limit.because = HOSTILE;
    for (const { processes, workloads } of step.windows) {
      processes[HOSTILE] = { cpu: 0.5 };
      for (const outcome of Object.values(workloads))
        if (outcome.failed > 0) outcome.errors = { [HOSTILE]: outcome.failed };
    }
    for (const outcome of Object.values(step.workloads))
      outcome.errors = { [HOSTILE]: outcome.failed };
  }
  return report;
}

const report = hostile();
const pages: Readonly<Record<string, string>> = {
  report: reportPage(report),
  'comparison of reports': comparisonPage(report, report, compareReports(report, report)),
};
const folder = mkdtempSync(join(tmpdir(), 'troupe-load-report-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(Object.keys(pages))('the page of a %s', (name) => {
  const html = pages[name]!;

  it('refers to nothing outside of it, and has no script', () => {
    expect(html).not.toMatch(/<(script|link|img|iframe|object|embed|base)\b/i);
    expect(html).not.toMatch(/url\(|@import/i);
    expect(html).toContain("default-src 'none'");
    expect(html).not.toContain('onerror="');
  });

  it('is small', () => {
    expect(html.length).toBeLessThan(500_000);
  });
});

describe.skipIf(chromiumPath === undefined)(`in a browser (${chromiumPath ?? NO_CHROMIUM})`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openChromium();
  });
  afterAll(() => browser.close());

  it.each(Object.keys(pages))('the page of a %s is whole', async (name) => {
    const file = join(folder, 'page.html');
    writeFileSync(file, pages[name]!);
    for (const colorScheme of ['light', 'dark'] as const) {
      const viewport = { width: 360, height: 700 };
      const context = await browser.newContext({ offline: true, colorScheme, viewport });
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => complaints.push(message.text()));
      page.on('request', (request) => {
        if (!request.url().startsWith('file:')) complaints.push(request.url());
      });
      await page.goto(`file://${file}`);
      expect(complaints).toEqual([]);
      expect(await page.title()).toContain(HOSTILE.slice(0, 20));
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
      const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect(back).toBe(colorScheme === 'dark' ? 'rgb(13, 17, 23)' : 'rgb(255, 255, 255)');
      await context.close();
    }
  });
});

it('a long test has few points', () => {
  const long = reportPage(loadReport({ seconds: 900, rates: [5] }));
  expect(long.length).toBeLessThan(500_000);
});

it('the tables have the figures of the plots', () => {
  const html = reportPage(loadReport({ seconds: 10, rates: [20, 40] }));
  expect(html).not.toMatch(/\b(src|href)=/);
  const tables = [...html.matchAll(/<caption>([^<]+)<\/caption>/g)].map(([, caption]) => caption);
  expect(tables).toEqual(
    expect.arrayContaining([
      'Latency by rate',
      'Latency over time',
      'Latency of chat over time',
      'Requests due, done and failed',
      'Latency by percentile',
      'Processor by process',
      'Event loop by process',
    ]),
  );
});

it('the table of the page has the figures of the table in a terminal', () => {
  const load = loadReport({ rates: [50, 480], seconds: 6, errorShare: 0.1 });
  const [, body = ''] = /aria-label="Steps".*?<tbody>(.*?)<\/tbody>/s.exec(reportPage(load)) ?? [];
  const ofPage = body
    .split('</tr>')
    .map((row) => [...row.matchAll(/<t[dh][^>]*>(.*?)<\/t[dh]>/g)].map(([, cell]) => cell));
  const [, table = ''] = reportText(load).split('\n\n');
  const ofText = table.split('\n').map((line) => line.trim().split(/ {2,}/));
  expect(ofPage.slice(0, -1)).toHaveLength(6);
  expect(ofPage.slice(0, -1)).toEqual(ofText.slice(1));
});
