/** The example as a reader runs it. */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { root } from '../../../tools/install.mjs';

it('prints what each strategy restarts, and that the supervisor gives up', () => {
  const args = ['tools/run.mjs', 'examples/supervisor/main.ts'];
  const said = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }).split('\n');
  expect(said.slice(0, 3).map((line) => line.split(': ').at(-1))).toEqual([
    '2, 0, 2',
    '0, 0, 0',
    '2, 0, 0',
  ]);
  expect(said[3]).toMatch(/is halted: .* gave up its 3 children/);
}, 30_000);
