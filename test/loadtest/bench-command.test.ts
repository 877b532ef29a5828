/**
 * `troupe bench` as a user runs it: the built program loads an installation that it starts itself,
 * or a running one. Each test that starts one ends with no process and no folder of it.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import { describe, expect, it } from 'vitest';
import { LoadReport } from '../../loadtest/report.ts';
import { workloadNames } from '../../loadtest/workloads/index.ts';
import { announced, runProgram, type Started, startProgram } from '../cli/program.ts';
import { eventually } from '../runtime/eventually.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { processesWith } from './processes-with.ts';

const LONG_MS = 120_000;

/** A home whose temporary folder is its own, so that what is left behind is visible. */
function newHome() {
  const home = scratchFolder();
  const temporary = join(home, 'tmp');
  mkdirSync(temporary);
  return { home, env: { TMPDIR: temporary }, left: () => readdirSync(temporary) };
}

function reportIn(file: string): LoadReport {
  const report: unknown = JSON.parse(readFileSync(file, 'utf8'));
  expect([...Value.Errors(LoadReport, report)].slice(0, 3)).toEqual([]);
  return report as LoadReport;
}

/** Resolves when the program has printed this line of progress. */
const printed = (program: Started, line: string) =>
  eventually(() => {
    if (!program.stderr.includes(line)) throw new Error(program.stderr);
  }, 60_000);

const small = ['--duration', '3s', '--warmup', '1s'];

describe('troupe bench', () => {
  it(
    'loads an installation of its own with every workload, and removes it',
    async () => {
      const { home, env, left } = newHome();
      const [json, html] = [join(home, 'load.json'), join(home, 'load.html')];
      const mix = workloadNames.map((name) => `${name}=1`).join(',');
      const args = ['bench', '--rate', '12', ...small, '--arrival', 'constant', '--mix', mix];
      const files = ['--json', json, '--html', html, '--label', 'every workload'];
      const ended = await runProgram([...args, ...files], { home, env });
      expect(ended.stderr).not.toMatch(/Warning/);
      expect(ended).toMatchObject({ code: 0 });
      const report = reportIn(json);
      expect(report).toMatchObject({ target: { kind: 'own' }, label: 'every workload' });
      const [step] = report.steps;
      expect(Object.keys(step!.workloads).toSorted()).toEqual([...workloadNames].toSorted());
      for (const [name, outcome] of Object.entries(step!.workloads)) {
        expect({ name, ...outcome }).toMatchObject({ failed: 0, unfinished: 0, errors: {} });
        expect(outcome.succeeded).toBeGreaterThan(0);
      }
      expect(step!.windows.some(({ processes }) => processes['troupe'] !== undefined)).toBe(true);
      expect(existsSync(html)).toBe(true);
      expect(left()).toEqual([]);
      expect(processesWith(env.TMPDIR)).toEqual([]);
    },
    LONG_MS,
  );

  it(
    'has runs and subagents answered by the scripted model, and ends a ramp at the first miss',
    async () => {
      const { home, env, left } = newHome();
      const json = join(home, 'load.json');
      // no rate can meet it, because the model needs longer
      const slo = ['--slo', 'p50=50ms@runs'];
      const ramp = ['--ramp', '2..8', '--steps', '3', '--step-duration', '2s', '--warmup', '0'];
      const model = ['--model', 'latency=uniform:80ms..120ms tokens=5'];
      const args = ['bench', ...ramp, ...slo, ...model, '--mix', 'runs=3,subagents=1'];
      const ended = await runProgram([...args, '--json', json], { home, env });
      expect(ended).toMatchObject({ code: 1 });
      const report = reportIn(json);
      expect(report.steps).toHaveLength(1);
      expect(report.steps[0]!.missed).toHaveLength(1);
      expect(report.sustainedPerSecond).toBeUndefined();
      expect(left()).toEqual([]);
    },
    LONG_MS,
  );

  it.each(['SIGINT', 'SIGTERM'] as const)(
    '%s ends it with a partial report and leaves nothing',
    async (signal) => {
      const { home, env, left } = newHome();
      const json = join(home, 'load.json');
      const args = ['bench', '--rate', '10', '--duration', '10m', '--warmup', '0'];
      const mix = ['--mix', 'memory,envelopes'];
      const program = startProgram([...args, ...mix, '--json', json], { home, env });
      await printed(program, 'measurement of 600 s at 10/s begins');
      program.child.kill(signal);
      const ended = await program.ended;
      expect(ended).toMatchObject({ code: 130 });
      expect(reportIn(json)).toMatchObject({ interrupted: true });
      expect(left()).toEqual([]);
      expect(processesWith(env.TMPDIR)).toEqual([]);
    },
    LONG_MS,
  );

  it(
    'stopped in the warm-up, it writes no report',
    async () => {
      const { home, env, left } = newHome();
      const json = join(home, 'load.json');
      const args = ['bench', '--rate', '10', '--warmup', '10m', '--mix', 'memory', '--json', json];
      const program = startProgram(args, { home, env });
      await printed(program, 'warm-up of 600 s at 10/s begins');
      program.child.kill('SIGINT');
      const ended = await program.ended;
      expect(ended).toMatchObject({ code: 130 });
      expect(ended.stderr).toContain('before the measurement began: there is no report');
      expect(existsSync(json)).toBe(false);
      expect(left()).toEqual([]);
    },
    LONG_MS,
  );

  it(
    'leaves nothing of its installation when it is killed',
    async () => {
      const { home, env, left } = newHome();
      const args = ['bench', '--rate', '10', '--duration', '10m', '--mix', 'memory'];
      const program = startProgram(args, { home, env });
      await printed(program, 'before the load');
      expect(left()).toHaveLength(1);
      program.child.kill('SIGKILL');
      await program.ended;
      await eventually(() => {
        expect(processesWith(env.TMPDIR)).toEqual([]);
        expect(left()).toEqual([]);
      }, 30_000);
    },
    LONG_MS,
  );

  it(
    'loads a running installation only with --running, counts its death as failures, and ends',
    async () => {
      const { home, env } = newHome();
      const gateway = startProgram(['start', '--json', '--port', '0'], { home, env });
      await announced(gateway, 60_000);
      const json = join(home, 'load.json');
      const load = ['--rate', '20', '--duration', '6s', '--warmup', '0', '--mix', 'memory,runs'];
      const args = ['bench', '--running', ...load, '--grace', '1s', '--timeout', '2s'];
      const bench = startProgram([...args, '--slo', 'errors=1%', '--json', json], { home, env });
      await printed(bench, 'measurement of 6 s at 20/s begins');
      gateway.child.kill('SIGKILL');
      const ended = await bench.ended;
      expect(ended.stderr).toContain('this loads');
      expect(ended).toMatchObject({ code: 1 });
      const [step] = reportIn(json).steps;
      const outcomes = Object.values(step!.workloads);
      expect(outcomes.reduce((sum, { failed }) => sum + failed, 0)).toBeGreaterThan(0);
    },
    LONG_MS,
  );

  it.each([
    [['--rate', '0'], 2, /--rate: "0"/],
    [['--rate', 'fast'], 2, /--rate: "fast"/],
    [['--mix', 'walks'], 2, /no workload "walks"; there are runs, chats/],
    [['--ramp', '9..1'], 2, /--ramp/],
    [['--slo', 'p42=1s'], 2, /"p42<=1s" is no objective/],
    [['--model', 'latency=warp'], 2, /duration|latency/],
    [['--duration', '10m', '--ramp', '1..2'], 2, /exclude each other/],
    [['--url', 'ws://127.0.0.1:1', '--model', 'tokens=1'], 2, /--model is for an own/],
    [['--html', '/no/such/folder/load.html'], 2, /--html: cannot write .*no such file/],
    [['--json=/'], 2, /--json: cannot write .*it is a folder/],
    [['--url', 'ws://127.0.0.1:1'], 3, /no gateway responds/],
    [['--running'], 3, /no gateway responds/],
  ] as const)('refuses %j', async (args, code, message) => {
    const ended = await runProgram(['bench', ...args, '--port', '1']);
    expect(ended.stderr).toMatch(message);
    expect(ended.code).toBe(code);
  });

  it(
    'refuses a wrong token, and a workload that the token may not use, before the load',
    async () => {
      const { home, env } = newHome();
      const gateway = startProgram(['start', '--json', '--port', '0'], { home, env });
      const { url } = await announced<{ url: string }>(gateway, 60_000);
      const ws = `ws://${new URL(url).host}`;
      const wrong = await runProgram(['bench', '--url', ws, '--token', 'wrong']);
      expect(wrong).toMatchObject({ code: 4 });
      const token = readFileSync(join(home, '.troupe', 'token'), 'utf8').trim();
      const args = ['bench', '--url', ws, '--token', token, '--mix', 'envelopes'];
      const lacking = await runProgram(args);
      expect(lacking.stderr).toContain('envelopes need the token of a program: --bearer');
      expect(lacking.code).toBe(2);
      const jwt = `x.${Buffer.from('{"tenant":"a","sub":"b"}').toString('base64url')}.x`;
      const refused = await runProgram([...args, '--bearer', jwt]);
      expect(refused.stderr).toMatch(/first request of the workload envelopes failed/);
      expect(refused.code).toBe(4);
    },
    LONG_MS,
  );
});
