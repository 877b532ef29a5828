import { describe, expect, it } from 'vitest';
import { mutants } from './mutants.ts';
import { bundleTrial, findFault, mutate, runTrial } from './sabotage.ts';

/** Most mutants are caught by the first ten. */
const SEEDS = 450;
const LIMIT_MS = 120_000;

describe('the simulation, or the test of a mutant, fails when the product', () => {
  it.each(mutants)('has $name', { timeout: 2 * LIMIT_MS }, async (mutant) => {
    const caught = await findFault(mutant, 1, SEEDS, LIMIT_MS);
    expect(caught?.fault, `${mutant.breaks}: survives seeds 1 to ${SEEDS}`).toBeTruthy();
  });

  it('and passes when it has none', { timeout: 2 * LIMIT_MS }, async () => {
    expect(await runTrial(await bundleTrial(), 1, 10, LIMIT_MS)).toBeUndefined();
  });
});

it('a mutant whose line is missing is reported as stale', () => {
  const change = { file: 'a.ts', find: 'fence', replace: '' };
  const mutant = { name: 'old', breaks: '', changes: [change] };
  expect(() => mutate(mutant, 'a.ts', 'no such line')).toThrow("'old' is stale");
  expect(() => mutate(mutant, 'a.ts', 'fence fence')).toThrow('2 times');
});

it('a mutant whose file is missing is reported as stale', async () => {
  const change = { file: 'runtime/no-such-file.ts', find: 'fence', replace: '' };
  const mutant = { name: 'moved', breaks: '', changes: [change] };
  await expect(bundleTrial(mutant)).rejects.toThrow("'moved' is stale: no runtime/no-such-file.ts");
});
