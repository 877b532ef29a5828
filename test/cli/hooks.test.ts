/** `troupe hooks` as a process, on a folder with good and bad files. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { runProgram } from './program.ts';

const sign = `export default { name: 'sign', hooks: {
  message_sending: ({ text }) => ({ text: text + ' -- me' }),
  before_tool_call: () => { throw new Error('broken') } } };`;

const dataOf = (files: Readonly<Record<string, string>>): string => {
  const data = scratchFolder();
  mkdirSync(join(data, 'hooks'));
  for (const [name, text] of Object.entries(files)) write(join(data, 'hooks'), name, text);
  return data;
};

describe('troupe hooks', () => {
  it('lists loaded hooks, and fails for a file that cannot be loaded', async () => {
    const data = dataOf({ 'sign.mjs': sign, 'bad.ts': 'export default {' });
    const listed = await runProgram(['hooks', 'list', '--data', data]);
    expect(listed.code).toBe(1);
    expect(listed.stdout).toMatch(/sign +on +0 +before_tool_call message_sending/);
    expect(listed.stderr).toContain(`${join(data, 'hooks', 'bad.ts')} is left out: line 1: `);
  });

  it('reports that there are no hooks', async () => {
    const data = dataOf({});
    const listed = await runProgram(['hooks', 'list', '--data', data]);
    expect(listed).toEqual({ code: 0, stdout: `no hooks in ${join(data, 'hooks')}\n`, stderr: '' });
  });

  it('calls the hooks of one name as a run would', async () => {
    const data = dataOf({ 'sign.mjs': sign });
    const args = ['--data', data, '--json', '--event', '{"text":"hello"}'];
    const called = await runProgram(['hooks', 'test', 'message_sending', ...args]);
    expect(called.code).toBe(0);
    expect(JSON.parse(called.stdout)).toMatchObject({
      modules: ['sign'],
      event: { text: 'hello' },
      result: { text: 'hello -- me' },
      failures: [],
    });
  });

  it('fails when a hook does not end within its time limit', async () => {
    const hangs = 'export const routeMessage = () => new Promise(() => {});';
    const args = ['hooks', 'test', 'routeMessage', '--data', dataOf({ 'hangs.js': hangs })];
    const late = 'failed: hangs: it took longer than 2000 ms\n';
    expect(await runProgram(args)).toMatchObject({ code: 1, stderr: late });
  });

  it('fails when a hook fails, and when there is none', async () => {
    const data = dataOf({ 'sign.mjs': sign });
    const broken = await runProgram(['hooks', 'test', 'before_tool_call', '--data', data]);
    expect(broken).toMatchObject({ code: 1, stderr: 'failed: sign: broken\n' });
    const none = await runProgram(['hooks', 'test', 'agent_end', '--data', data]);
    expect(none.code).toBe(2);
    expect(none.stderr).toContain('handles agent_end: troupe hooks list');
  });
});
