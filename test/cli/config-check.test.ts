import { expect, it } from 'vitest';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { runProgram } from './program.ts';

it('config check and start refuse the same configuration with the same report', async () => {
  const home = scratchFolder();
  const file = write(
    home,
    'wrong.json5',
    "{ gateway: { port: 'many' }, agents: { defaults: { model: 'nobody-has-it', thinkingLevel: 'banana' } } }",
  );
  const options = ['--config', file, '--data', scratchFolder()];
  const [check, start] = await Promise.all([
    runProgram(['config', 'check', ...options], { home }),
    runProgram(['start', ...options], { home }),
  ]);
  expect(check.stderr).toMatch(/3 problems/);
  expect(check.stderr).toMatch(
    /agents\.defaults\.model = "nobody-has-it" \(.*wrong\.json5:1:\d+\)/,
  );
  expect(check.stderr).toMatch(/thinkingLevel = "banana"[^]*allowed: "off", "minimal"/);
  expect(check.stderr).toContain('gateway.port');
  expect(start).toMatchObject({ code: check.code, stderr: check.stderr });
});
