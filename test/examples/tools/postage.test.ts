/** The example of a tool, run as in its README. */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

it('a model calls the tool of the example, and receives the error of an invalid call', () => {
  const args = ['tools/run.mjs', 'examples/tools/main.ts'];
  const lines = execFileSync(process.execPath, args, { encoding: 'utf8' }).split('\n');
  expect(lines[0]).toBe('The tool postage answered: 27.00 euros');
  expect(lines[1]).toMatch(/^The tool postage failed: .*country/);
}, 60_000);
