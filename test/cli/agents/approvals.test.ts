/** `troupe approvals` as a process, against a real system behind real HTTP. */
import { expect, it } from 'vitest';
import { type ApprovalServer, openApprovals, SECRET } from '../../channels/http/approval-server.ts';
import { runProgram } from '../program.ts';

const approvals = ({ url }: ApprovalServer, ...args: string[]) =>
  runProgram(['approvals', ...args, '--url', url.replace('http:', 'ws:'), '--token', SECRET]);

it('troupe approvals lists pending approvals, decides one once, and names who decided', async () => {
  const server = await openApprovals();
  expect(await approvals(server, 'list')).toMatchObject({
    code: 0,
    stdout: 'no approval is pending\n',
  });
  const { answer } = await server.ask('pay', { detail: 'the bank is away' });
  const { stdout } = await approvals(server, 'list');
  expect(stdout).toMatch(/^APPROVAL +STATE +ASKED +UNTIL +BY +ANSWERS +TITLE\n/);
  expect(stdout).toMatch(
    /pay +asked +\d+ s ago +in (23 h|1 d) +ada +allow, deny +May I pay\?\n\npay\n {2}the bank is away\n/,
  );
  const done = await approvals(server, 'answer', 'pay', 'allow', '--why', 'fine');
  expect(done).toMatchObject({ code: 0, stdout: 'pay is allowed: allow by op\n' });
  expect(await answer).toMatchObject({ result: { state: 'allowed', why: 'fine' } });
  const again = await approvals(server, 'answer', 'pay', 'deny', '--why', 'no', '--json');
  expect(again.code).not.toBe(0);
  expect(JSON.parse(again.stdout)).toMatchObject({ error: { code: 'CONFLICT' } });
  const all = await approvals(server, 'list', '--state', 'all', '--json');
  expect(JSON.parse(all.stdout)).toMatchObject({ approvals: [{ id: 'pay', state: 'allowed' }] });
});

it('troupe approvals answer needs no reason', async () => {
  const server = await openApprovals();
  const { answer } = await server.ask('pay');
  expect(await approvals(server, 'answer', 'pay', 'allow')).toMatchObject({ code: 0, stderr: '' });
  expect(await answer).toMatchObject({ result: { state: 'allowed' } });
});

it('troupe approvals shows a pending command, its agent, its deadline and the possible decisions', async () => {
  const server = await openApprovals();
  const { answer } = await server.ask('r1.call_1', {
    title: 'main wants to run: git push',
    detail: 'git push\nin /workspace',
    forMs: 1_800_000,
    options: [
      { name: 'allow-once', means: 'allowed' },
      { name: 'allow-always', means: 'allowed' },
      { name: 'deny', means: 'denied' },
    ],
  });
  const { stdout } = await approvals(server, 'list');
  expect(stdout).toMatch(
    /r1\.call_1 +asked .* in (29|30) min +ada +allow-once, allow-always, deny +main wants to run: git push\n/,
  );
  expect(stdout).toContain('\nr1.call_1\n  git push\n  in /workspace\n');
  const done = await approvals(
    server,
    'answer',
    'r1.call_1',
    'allow-always',
    '--why',
    'it is fine',
  );
  expect(done.stdout).toBe('r1.call_1 is allowed: allow-always by op\n');
  expect(await answer).toMatchObject({ result: { decision: 'allow-always' } });
  const all = await approvals(server, 'list', '--state', 'allowed');
  expect(all.stdout).toMatch(/r1\.call_1 +allowed .* ada +allow-always by op +main wants to run/);
});
