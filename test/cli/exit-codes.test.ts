/** The exit codes: those of the code are those of docs/cli.md and of the help. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { exitCodeOf, exitCodes } from '../../cli/exit.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { root } from '../../tools/install.mjs';
import { runProgram } from './program.ts';

const codes = Object.values(exitCodes).toSorted((a, b) => a - b);

it('are all documented, and no other', async () => {
  const page = readFileSync(join(root, 'docs/cli.md'), 'utf8');
  const [, section = ''] = page.split('## Exit codes');
  const documented = [...section.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  expect(documented).toEqual(codes);
  const { stdout } = await runProgram(['--help']);
  const [, help = ''] = stdout.split('Exit codes:');
  expect([...help.matchAll(/\b(\d+) /g)].map(([, code]) => Number(code))).toEqual(codes);
});

it('follow from the errors', () => {
  const of = (code: ConstructorParameters<typeof TroupeError>[0], details = {}) =>
    exitCodeOf(new TroupeError(code, 'why', { details }));
  expect(of('INVALID_ARGUMENT')).toBe(exitCodes.usage);
  expect(of('FORBIDDEN')).toBe(exitCodes.refused);
  expect(of('DEADLINE_EXCEEDED')).toBe(exitCodes.timeout);
  expect(of('UNAVAILABLE', { reason: 'LOCKED' })).toBe(exitCodes.taken);
  expect(of('INTERNAL')).toBe(exitCodes.failure);
  expect(exitCodeOf(new Error('a bug'))).toBe(exitCodes.failure);
});

it('are those of the processes', async () => {
  const env = { TROUPE_PORT: '1' };
  expect((await runProgram(['--version'], { env })).code).toBe(exitCodes.ok);
  expect((await runProgram(['health'], { env })).code).toBe(exitCodes.failure);
  expect((await runProgram(['config', 'unknown'], { env })).code).toBe(exitCodes.usage);
  expect((await runProgram(['sessions'], { env })).code).toBe(exitCodes.unreachable);
}, 60_000);
