/** `troupe approvals` as a process, against a real system behind real HTTP. */
import { expect, it } from 'vitest';
import { type ApprovalDoor, openApprovals, SECRET } from '../channels/http/approval-server.ts';
import { runProgram } from './program.ts';

const approvals = ({ url }: ApprovalDoor, ...args: string[]) =>
  runProgram(['approvals', ...args, '--url', url.replace('http:', 'ws:'), '--token', SECRET]);

it('troupe approvals lists pending approvals, decides one once, and names who decided', async () => {
  const door = await openApprovals();
  expect(await approvals(door, 'list')).toMatchObject({
    code: 0,
    stdout: 'no approval is pending\n',
  });
  const { answer } = await door.ask('pay', { detail: 'the bank is away' });
  const { stdout } = await approvals(door, 'list');
  expect(stdout).toMatch(/^APPROVAL +STATE +ASKED +UNTIL +BY +ANSWERS +TITLE\n/);
  expect(stdout).toMatch(
    /pay +asked +\d+ s ago +in (23 h|1 d) +ada +allow, deny +May I pay\?\n\npay\n {2}the bank is away\n/,
  );
  const done = await approvals(door, 'answer', 'pay', 'allow', '--why', 'fine');
  expect(done).toMatchObject({ code: 0, stdout: 'pay is allowed: allow by op\n' });
  expect(await answer).toMatchObject({ result: { state: 'allowed', why: 'fine' } });
  const again = await approvals(door, 'answer', 'pay', 'deny', '--why', 'no', '--json');
  expect(again.code).not.toBe(0);
  expect(JSON.parse(again.stdout)).toMatchObject({ error: { code: 'CONFLICT' } });
  const all = await approvals(door, 'list', '--state', 'all', '--json');
  expect(JSON.parse(all.stdout)).toMatchObject({ approvals: [{ id: 'pay', state: 'allowed' }] });
});

it('troupe approvals answer needs no reason', async () => {
  const door = await openApprovals();
  const { answer } = await door.ask('pay');
  expect(await approvals(door, 'answer', 'pay', 'allow')).toMatchObject({ code: 0, stderr: '' });
  expect(await answer).toMatchObject({ result: { state: 'allowed' } });
});

it('troupe approvals shows a pending command, its agent, its deadline and the possible decisions', async () => {
  const door = await openApprovals();
  const { answer } = await door.ask('r1.call_1', {
    title: 'main wants to run: git push',
    detail: 'git push\nin /workspace',
    forMs: 1_800_000,
    options: [
      { name: 'allow-once', means: 'allowed' },
      { name: 'allow-always', means: 'allowed' },
      { name: 'deny', means: 'denied' },
    ],
  });
  const { stdout } = await approvals(door, 'list');
  expect(stdout).toMatch(
    /r1\.call_1 +asked .* in (29|30) min +ada +allow-once, allow-always, deny +main wants to run: git push\n/,
  );
  expect(stdout).toContain('\nr1.call_1\n  git push\n  in /workspace\n');
  const done = await approvals(door, 'answer', 'r1.call_1', 'allow-always', '--why', 'it is fine');
  expect(done.stdout).toBe('r1.call_1 is allowed: allow-always by op\n');
  expect(await answer).toMatchObject({ result: { decision: 'allow-always' } });
  const all = await approvals(door, 'list', '--state', 'allowed');
  expect(all.stdout).toMatch(/r1\.call_1 +allowed .* ada +allow-always by op +main wants to run/);
});
