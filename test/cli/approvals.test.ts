/** `troupe approvals` as a process, against a real system behind real HTTP. */
import { expect, it } from 'vitest';
import { type ApprovalDoor, openApprovals, SECRET } from '../channels/http/approval-door.ts';
import { runProgram } from './program.ts';

const approvals = ({ url }: ApprovalDoor, ...args: string[]) =>
  runProgram(['approvals', ...args, '--url', url.replace('http:', 'ws:'), '--token', SECRET]);

it('troupe approvals lists what waits, answers it once, and says whose word counted', async () => {
  const door = await openApprovals();
  expect(await approvals(door, 'list')).toMatchObject({
    code: 0,
    stdout: 'nothing waits for a person\n',
  });
  const { answer } = await door.ask('pay', { detail: 'the bank is away' });
  const { stdout } = await approvals(door, 'list');
  expect(stdout).toMatch(/^APPROVAL +STATE +ASKED +OPTIONS +TITLE\n/);
  expect(stdout).toMatch(/pay +asked .* allow, deny +May I pay\?\n\npay\n {2}the bank is away\n/);
  const done = await approvals(door, 'answer', 'pay', 'allow', '--why', 'fine');
  expect(done).toMatchObject({ code: 0, stdout: 'pay is allowed: allow by op\n' });
  expect(await answer).toMatchObject({ result: { state: 'allowed', why: 'fine' } });
  const again = await approvals(door, 'answer', 'pay', 'deny', '--why', 'no', '--json');
  expect(again.code).not.toBe(0);
  expect(JSON.parse(again.stdout)).toMatchObject({ error: { code: 'CONFLICT' } });
  const all = await approvals(door, 'list', '--state', 'all', '--json');
  expect(JSON.parse(all.stdout)).toMatchObject({ approvals: [{ id: 'pay', state: 'allowed' }] });
});

it('troupe approvals answer is not run without a reason', async () => {
  const door = await openApprovals();
  const ended = await approvals(door, 'answer', 'pay', 'allow');
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('--why') });
});
