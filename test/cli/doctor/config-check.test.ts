import { expect, it } from 'vitest';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { runProgram } from '../program.ts';

it('config check and start refuse the same configuration with the same report', async () => {
  const home = scratchFolder();
  const file = write(
    home,
    'wrong.json5',
    "{ gateway: { port: 'many' }, agents: { defaults: { model: 'no-such-model', thinkingLevel: 'banana' } } }",
  );
  const options = ['--config', file, '--data', scratchFolder()];
  const [check, start] = await Promise.all([
    runProgram(['config', 'check', ...options], { home }),
    runProgram(['start', ...options], { home }),
  ]);
  expect(check.stderr).toMatch(/3 problems/);
  expect(check.stderr).toMatch(
    /agents\.defaults\.model = "no-such-model" \(.*wrong\.json5:1:\d+\)/,
  );
  expect(check.stderr).toMatch(/thinkingLevel = "banana"[^]*allowed: "off", "minimal"/);
  expect(check.stderr).toContain('gateway.port');
  expect(start).toMatchObject({ code: check.code, stderr: check.stderr });
});

it('config check and doctor warn about a pattern that runs script files of the agent', async () => {
  const home = scratchFolder();
  const allow =
    "['bash *', 'python3.11 scripts/*', 'git status && node *', 'node build.js *', 'ls *']";
  const file = write(
    home,
    'broad.json5',
    `{ tools: { exec: { allow: ${allow} } },
       agents: { agents: [{ id: 'a', tools: { exec: { allow: ['/bin/sh *'] } } }] } }`,
  );
  const options = ['--config', file, '--data', scratchFolder()];
  const [check, json, doctor] = await Promise.all([
    runProgram(['config', 'check', ...options], { home }),
    runProgram(['config', 'check', '--json', ...options], { home }),
    runProgram(['doctor', '--json', ...options], { home }),
  ]);
  const paths = [
    'tools.exec.allow[0]',
    'tools.exec.allow[1]',
    'tools.exec.allow[2]',
    'agents.agents[0].tools.exec.allow[0]',
  ];
  expect(check.code).toBe(0);
  expect(check.stdout.match(/^warning: .*/gm)).toHaveLength(paths.length);
  expect(check.stdout).toContain(
    'tools.exec.allow[0] = "bash *": bash runs any matching script file without approval',
  );
  const { warnings } = JSON.parse(json.stdout) as { warnings: { path: string }[] };
  expect(warnings.map(({ path }) => path)).toEqual(paths);
  const { checks } = JSON.parse(doctor.stdout) as {
    checks: { check: string; status: string; message: string }[];
  };
  const found = checks.filter(({ check: name }) => name === 'exec patterns');
  expect(found.map(({ status, message }) => [status, message.split(' ')[0]])).toEqual(
    paths.map((path) => ['warn', path]),
  );
});

it('doctor fails on a pattern that matches nothing', async () => {
  const home = scratchFolder();
  const file = write(home, 'never.json5', "{ tools: { exec: { allow: ['sudo *'] } } }");
  const doctor = await runProgram(
    ['doctor', '--json', '--config', file, '--data', scratchFolder()],
    {
      home,
    },
  );
  expect(doctor.code).toBe(1);
  expect(JSON.parse(doctor.stdout)).toMatchObject({
    checks: expect.arrayContaining([
      {
        check: 'exec patterns',
        status: 'fail',
        message: expect.stringMatching(/tools\.exec\.allow\[0\] = "sudo \*": matches nothing/),
        remedy: expect.any(String),
      },
    ]),
  });
});

it('node run warns about the same patterns, and refuses those that match nothing', async () => {
  const home = scratchFolder();
  const patterns = ['--allow', 'node build.js *', '--allow', 'bash *', '--allow', 'sudo *'];
  const args = ['node', 'run', '--data', home, '--token', 'secret', ...patterns];
  const ran = await runProgram(args, { home });
  expect(ran.stdout).toMatch(
    /^warning: --allow 'bash \*': bash runs any matching script file.*\n$/,
  );
  expect(ran.stderr).toContain("--allow 'sudo *' allows nothing");
  expect(ran.code).not.toBe(0);
});
