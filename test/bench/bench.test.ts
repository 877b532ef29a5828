/**
 * The benchmark command in its quickest form: every scenario measures something, `check` fails when
 * a threshold is missed, and no process or file remains. The figures themselves are not judged
 * here.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Results } from '../../bench/harness/runner.ts';
import { natsServers } from '../servers/nats.ts';

const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-test-'));
const stores = mkdtempSync(join(folder, 'stores-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** The command, which bundles the bench, or the bundle that it has left. */
const COMMAND = ['tools/run.mjs', 'bench/main.ts'];
const BUNDLE = ['dist/run/bench-main.mjs'];

const bench = (...args: string[]): Promise<Ended> => run(...BUNDLE, ...args);

async function run(...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, args, { env: { ...process.env, TMPDIR: stores } });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

const { stdout: list } = await run(...COMMAND, 'list');
const names = list
  .trim()
  .split('\n')
  .map((line) => line.split(' ')[0] ?? '');
/** The `-cold` scenarios are the same code with another setting. */
const measured = names.filter((name) => !name.endsWith('-cold'));
/** Scenarios of a cluster need a nats-server. */
const lacksNats = (name: string): boolean =>
  name.startsWith('cluster') && natsServers().length === 0;

test('the list names every scenario with its question', () => {
  expect(names).toEqual(
    expect.arrayContaining([
      'limits',
      'turn',
      'hop',
      'ask',
      'activation',
      'idle',
      'start',
      'run',
      'cluster',
    ]),
  );
  for (const line of list.trim().split('\n')) expect(line).toMatch(/^[a-z0-9-]+ +\S.*\?/);
});

test.each([
  [['hop', '--json', join(folder, 'none', 'results.json')], /--json: cannot write/],
  [['hop', '--repeats', '0'], /--repeats is a whole number from 1/],
  [['no-such'], /there is no scenario no-such: /],
])('%j is refused at once, in a line that stays on the screen', async (args, why) => {
  const { code, stdout, stderr } = await bench(...args, '--smoke');
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(why);
  expect(stderr.trim().split('\n')).toHaveLength(2);
});

describe('the smoke run of all scenarios', () => {
  let ended: Ended;
  let results: Results;
  beforeAll(async () => {
    const file = join(folder, 'all.json');
    const able = measured.filter((name) => !lacksNats(name));
    ended = await bench(...able, '--smoke', '--json', file);
    results = JSON.parse(readFileSync(file, 'utf8')) as Results;
  }, 600_000);

  test('succeeds, names the machine, and leaves no processes or files', () => {
    expect(`${ended.code} ${ended.stderr}`).toMatch(/^0 /);
    expect(results).toMatchObject({ format: 1, scale: 'smoke' });
    expect(results.machine.cores).toBeGreaterThan(0);
    expect(readdirSync(stores)).toEqual([]);
  });

  test.for(measured)('measures every figure of %s', (name, { skip }) => {
    skip(lacksNats(name), 'there is no nats-server here');
    const result = results.scenarios.find((one) => one.name === name);
    if (result?.status !== 'measured') throw new Error(JSON.stringify(result));
    const figures = Object.values(result.figures);
    expect(figures.length).toBeGreaterThan(0);
    for (const { label, needs, median, min, max, values } of figures) {
      expect(ended.stdout).toContain(label.trim());
      expect(values).toHaveLength(1);
      // its package is not installed
      if (needs !== undefined && median === null) continue;
      expect(Number.isFinite(median), `${label}: ${median}`).toBe(true);
      expect([min, max]).toEqual([median, median]);
    }
  });
});

describe('check', () => {
  const check = (gate: string) => bench('check', 'limits', '--smoke', '--gate', gate);

  test('fails and names the figure when a threshold is missed, and by how much', async () => {
    const { code, stdout } = await check('limits.putsPerSecond=1000000000000');
    expect(code).toBe(1);
    expect(stdout).toMatch(/MISSED {2}limits\.putsPerSecond: [\d,.]+ \/s, asked ≥ .*, \d+ % short/);
  });

  test('passes when every threshold holds', async () => {
    const { code, stdout } = await check('limits.putsPerSecond=1');
    expect(code).toBe(0);
    expect(stdout).toMatch(/ok {6}limits\.putsPerSecond/);
  });
});

describe('what a person gets wrong', () => {
  test.each([
    [['nonsense'], 'there is no scenario nonsense: limits'],
    [['limits', '--loud'], "Unknown option '--loud'"],
    [['limits', '--repeats', 'many'], '--repeats is a whole number'],
    [['limits', '--gate', 'fast'], '--gate is written scenario.figure=number'],
    [
      ['limits', '--gate', 'limit.putsPerSecond=5'],
      'there is no scenario limit: see `bench -- list`',
    ],
    [['limits', '--gate', 'limits.puts=5'], 'limits has the figures decodesPerSecond, '],
    [['limits', '--gate', 'limits.putsPerSecond=0'], 'a threshold of 0 cannot be missed'],
    [['limits', '--baseline', '/nowhere.json'], 'the baseline /nowhere.json cannot be read'],
  ])('%j ends with exit code 2 before anything is measured', async (args, why) => {
    const { code, stderr } = await bench(...args, '--smoke');
    expect(code).toBe(2);
    expect(stderr).toContain(why);
    expect(stderr).not.toContain('limits 1/1');
  });
});
