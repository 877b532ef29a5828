/** `troupe subagents` as a process, against a real system behind real HTTP. */
import { expect, it } from 'vitest';
import { holdParent } from '../../actors/subagent/parent.ts';
import { openSubagents, SECRET, type SubagentServer } from '../../channels/http/subagent-server.ts';
import { runProgram } from '../program.ts';

const subagents = ({ url }: SubagentServer, ...args: string[]) =>
  runProgram(['subagents', ...args, '--url', url.replace('http:', 'ws:'), '--token', SECRET]);

it('troupe subagents lists and counts subagents, sends them messages and ends them', {
  timeout: 60_000,
}, async () => {
  const server = await openSubagents();
  expect(await subagents(server)).toMatchObject({ code: 0, stdout: 'no subagent is running\n' });
  const parent = await holdParent(server.system);
  await parent.spawn('s1', '[[stall:1]] think forever');
  await parent.rowWith('s1', { status: 'running' });
  const { stdout } = await subagents(server, 'list');
  expect(stdout).toMatch(/^SUBAGENT +STATE +SINCE +AGENT +PARENT +TOKENS +REPORTED +TASK\n/);
  expect(stdout).toMatch(/s1 +running +\d+ s +main +agent:main:main +\d+ of 50000 .*forever\n/);
  expect(await subagents(server, 'steer', 's1', 'faster')).toMatchObject({
    stdout: 'the message was delivered to s1\n',
  });
  const counted = await subagents(server, 'census');
  expect(counted.code).toBe(0);
  expect(counted.stdout).toMatch(/running +1\n/);
  expect(counted.stdout).toMatch(/0 overdue\n$/);
  server.lookLater(3_600_000);
  const late = await subagents(server, 'census');
  expect(late.code).toBe(1);
  expect(late.stdout).toMatch(/s1 +running +1 h +59 min +agent:main:main\n/);
  expect((await subagents(server, 'kill', 's1', '--reason', 'enough')).stdout).toBe(
    's1 is ending\n',
  );
  await parent.rowWith('s1', { status: 'killed', reported: 'steer' });
  expect((await subagents(server, 'list', '--all')).stdout).toMatch(
    /s1 +killed .* steer +.* \(enough\)$/m,
  );
  const json = await subagents(server, 'census', '--json');
  expect(JSON.parse(json.stdout)).toMatchObject({ counts: { killed: 1 }, open: [], overdue: 0 });
});

it('troupe subagents kill requires a reason, and reports an unknown subagent', async () => {
  const server = await openSubagents();
  expect(await subagents(server, 'kill', 'x')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--reason/) as string,
  });
  expect(await subagents(server, 'kill', 'x', '--reason', 'no')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/there is no subagent x/) as string,
  });
});
