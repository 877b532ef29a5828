/** `troupe bench report`, `compare` and `check` of the built program. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { reportText } from '../../cli/bench/report-text.ts';
import { parseObjective } from '../../loadtest/objective.ts';
import type { LoadReport } from '../../loadtest/report.ts';
import { runProgram } from '../cli/program.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { loadReport } from './reports.ts';

const objectives = [parseObjective('p99<=60ms')];
const before = loadReport({ seed: 1, rates: [100, 480], objectives, label: 'before' });
const after = loadReport({ seed: 2, rates: [100, 480], objectives, serviceMs: 3 });

function filesOf(reports: Readonly<Record<string, LoadReport | string>>) {
  const folder = scratchFolder();
  return Object.fromEntries(
    Object.entries(reports).map(([name, report]) => {
      const file = join(folder, `${name}.json`);
      writeFileSync(file, typeof report === 'string' ? report : JSON.stringify(report));
      return [name, file];
    }),
  );
}

it('report prints a table, JSON and a page', async () => {
  const { load } = filesOf({ load: before });
  const html = join(scratchFolder(), 'load.html');
  const text = await runProgram(['bench', 'report', load!, '--html', html]);
  expect(text).toMatchObject({ code: 0, stderr: '' });
  expect(text.stdout).toMatch(/^RATE\/S +WORKLOAD +DUE\/S +DONE\/S +P50/m);
  expect(text.stdout).toMatch(/^480 +all .* missed: p99$/m);
  expect(text.stdout).toContain('480/s: p99 <= 60 ms, measured');
  expect(text.stdout).toContain('Sustained: 100 requests per second met all objectives.');
  expect(readFileSync(html, 'utf8')).toContain('<h1>Load test: before</h1>');
  const { stdout } = await runProgram(['bench', 'report', load!, '--json']);
  const json = JSON.parse(stdout) as { steps: { workloads: { workload: string }[] }[] };
  expect(json.steps.map(({ workloads }) => workloads.map(({ workload }) => workload))).toEqual([
    ['all', 'chat', 'run'],
    ['all', 'chat', 'run'],
  ]);
}, 60_000);

it('compare prints verdicts, and refuses other plans', async () => {
  const other = loadReport({ rates: [70], mix: { run: 1 } });
  const files = filesOf({ before, after, other });
  const { code, stdout } = await runProgram(['bench', 'compare', files.before!, files.after!]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^100 +all +p50 .* slower$/m);
  const refused = await runProgram(['bench', 'compare', files.before!, files.other!]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('mix: chat 30 %, run 70 % | run 100 %');
  expect(refused.stderr).toContain('--anyway');
  const args = ['bench', 'compare', files.before!, files.other!, '--anyway', '--json'];
  const anyway = await runProgram(args);
  expect(anyway.code).toBe(0);
  expect(JSON.parse(anyway.stdout)).toMatchObject({
    planDiffers: ['mix: chat 30 %, run 70 % | run 100 %', 'rates: 100, 480/s | 70/s'],
  });
}, 120_000);

it('check has exit code 1 when an objective is missed or the baseline was faster', async () => {
  const files = filesOf({ before, after, bad: '{"format": "troupe-load-report", ' });
  const check = (...args: string[]) => runProgram(['bench', 'check', ...args]);
  const missed = await check(files.before!);
  expect(missed.code).toBe(1);
  expect(missed.stdout).toMatch(/^MISSED {2}480\/s: p99 <= 60 ms, measured/m);
  expect((await check(files.before!, '--up-to', '100')).code).toBe(0);
  expect((await check(files.before!, '--slo', 'p50=1s,errors=0.1%')).code).toBe(0);
  expect((await check(files.before!, '--slo', 'p50=1s@mail')).stderr).toContain(
    'mail is not in the mix (chat, run)',
  );
  const against = ['--against', files.before!, '--up-to', '100', '--slo', 'p99=1s'];
  expect((await check(files.after!, ...against)).code).toBe(1);
  expect((await check(files.after!, ...against, '--tolerance', '900%')).code).toBe(0);
  expect((await check(files.before!, ...against)).code).toBe(0);
  const bad = await check(files.bad!);
  expect(bad).toMatchObject({ code: 2 });
  expect(bad.stderr).toContain('bad.json is not JSON: it may have been cut off');
  expect((await check('/nowhere.json')).stderr).toContain('there is no file /nowhere.json');
}, 180_000);

it('a narrow terminal gets fewer columns, and their names', () => {
  const wide = reportText(before);
  expect(wide).not.toContain('Not shown');
  const narrow = reportText(before, { columns: 60 });
  const table = narrow.split('\n\n')[1]!;
  for (const line of table.split('\n')) expect(line.length).toBeLessThanOrEqual(60);
  expect(table).toMatch(/RATE\/S .* P50 .* P99/);
  expect(narrow).toMatch(/Not shown, because the terminal is narrow: .*service p50/);
});

it('text from outside cannot control the terminal', () => {
  const text = reportText({ ...before, label: 'a\u001b[2Jb', command: '\u001b]0;x\u0007' });
  expect(text).not.toContain('\u001b[2J');
  expect(text).not.toContain('\u0007');
});
