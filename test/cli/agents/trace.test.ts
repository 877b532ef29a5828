/** `troupe trace` as a process, against a whole troupe with a finished run. */
import { expect, it } from 'vitest';
import type { RunTrace } from '../../../protocols/run-trace.ts';
import { install } from '../../agent-runs/installation.ts';
import { TOKEN } from '../../channels/gateway/client.ts';
import { faultsOf } from '../../operations/run-trace/mermaid-grammar.ts';
import { eventually } from '../../runtime/eventually.ts';
import type { SubagentRow } from '../../../protocols/subagent.ts';
import { runProgram } from '../program.ts';

const MAIN = 'agent:main:main';

it('troupe trace prints what a run caused as text, as JSON and as a diagram', async () => {
  const troupe = await install({ config: {} });
  const { host } = new URL(troupe.url);
  const trace = (...args: string[]) =>
    runProgram(['trace', ...args, '--url', `ws://${host}`, '--token', TOKEN]);
  const task = { task: 'look under the sofa', label: 'finder', wait: true };
  const runId = await troupe.send(MAIN, `call sessions_spawn ${JSON.stringify(task)}`);
  await troupe.rowAtEnd(runId);
  await eventually(() => {
    const rows = troupe.system.index.list<SubagentRow>('subagents', 'default');
    expect(rows.map(({ value }) => value.reported)).toEqual(['waited']);
  });

  const text = await trace(runId);
  expect(text).toMatchObject({ code: 0, stderr: '' });
  expect(text.stdout).toMatch(new RegExp(`^run ${runId} in ${MAIN}: ok in `));
  expect(text.stdout).toMatch(/→ finder \(main:subagent:[0-9a-f]{8}\) {2}task finder: look under/);
  const picture = await trace(runId, '--mermaid');
  expect(faultsOf(picture.stdout)).toEqual([]);
  expect(picture.stdout).toContain('task finder: look under the sofa');

  const shallow = JSON.parse((await trace(runId, '--json', '--depth', '1')).stdout) as RunTrace;
  expect(shallow).toMatchObject({ runId, left: { deeper: 0 } });
  const unknown = await trace('unknown-run', '--json');
  expect(unknown.code).not.toBe(0);
  expect(JSON.parse(unknown.stdout)).toMatchObject({ error: { code: 'NOT_FOUND' } });
  const tooDeep = await trace(runId, '--json', '--depth', '9');
  expect(JSON.parse(tooDeep.stdout)).toMatchObject({ error: { code: 'INVALID_ARGUMENT' } });
  const stranger = await fetch(`http://${host}/v1/runs/${runId}/trace`);
  expect(stranger.status).toBe(401);
}, 90_000);

it('troupe sessions delete removes a session from the list and keeps its transcript', async () => {
  const troupe = await install({ config: {} });
  const { host } = new URL(troupe.url);
  const sessions = (...args: string[]) =>
    runProgram(['sessions', ...args, '--url', `ws://${host}`, '--token', TOKEN]);
  const trial = 'agent:main:trial';
  await troupe.run(trial, 'hello');
  expect((await sessions()).stdout).toContain(trial);
  const deleted = await sessions('delete', trial);
  expect(deleted).toMatchObject({
    code: 0,
    stdout: `${trial} is deleted; its transcript is kept\n`,
  });
  await eventually(() => expect(troupe.sessionRow(trial)).toBeUndefined());
  expect((await sessions('--json')).stdout).not.toContain(trial);
  expect((await troupe.transcript(trial)).length).toBeGreaterThan(0);
  const again = await sessions('delete', trial, '--json');
  expect(JSON.parse(again.stdout)).toMatchObject({ deleted: false });
  const main = await sessions('delete', MAIN, '--json');
  expect(JSON.parse(main.stdout)).toMatchObject({ error: { code: 'INVALID_ARGUMENT' } });
}, 90_000);
