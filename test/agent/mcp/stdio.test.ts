/** A stdio server as a real process: its tools, its end, its failures. */
import { describe, expect, it } from 'vitest';
import { isAlive } from '../../../agent/sandbox/process-tree.ts';
import { eventually } from '../../runtime/eventually.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import {
  linesOf,
  openServers,
  SECRET,
  stdioEntry,
  STDIO_SERVER,
  textOf,
} from './servers-fixture.ts';

const NAMES = ['big', 'change', 'echo', 'grow', 'hang_once', 'hang_reading', 'pid', 'whoami'];

it('lists the tools by name, and calls them', async () => {
  const folder = scratchFolder();
  const { servers, call, refresh, stored } = openServers({ test: stdioEntry(folder) });
  await refresh();
  expect(servers.states()).toMatchObject({ test: { state: 'connected' } });
  expect(stored()).toMatchObject({ leftOut: [] });
  expect(servers.tools().map(({ name }) => name)).toEqual(
    NAMES.map((name) => `mcp__test__${name}`),
  );
  const step = await call('echo', { input: { text: 'hello' } });
  expect(step).toEqual({ kind: 'done', result: { text: 'you said hello' } });
});

it('masks secrets of the server in its results and in the log', async () => {
  const folder = scratchFolder();
  const { call, reports } = openServers({ test: stdioEntry(folder) });
  expect(textOf(await call('whoami'))).toMatch(/^\*\*\* /);
  await eventually(() =>
    expect(reports.map(({ text }) => text)).toContain('started with the secret ***'),
  );
  expect(JSON.stringify(reports)).not.toContain(SECRET);
});

it('follows the announcement of a changed list', async () => {
  const { servers, call, refresh } = openServers({ test: stdioEntry(scratchFolder()) });
  await refresh();
  const before = servers.tools();
  await call('grow');
  await eventually(() =>
    expect(servers.tools().map(({ name }) => name)).toContain('mcp__test__grown'),
  );
  expect(servers.tools()).not.toBe(before);
});

describe('a process that is killed in the middle of a call', () => {
  const killed = async (name: string, callClass: 'once' | 'repeatable') => {
    const folder = scratchFolder();
    const { call } = openServers({ test: stdioEntry(folder) });
    const pid = Number(textOf(await call('pid')));
    const calling = call(name, { class: callClass });
    calling.catch(() => {});
    await eventually(() => expect(linesOf(folder, 'calls')).toEqual([name]));
    process.kill(pid, 'SIGKILL');
    return { calling, call, folder };
  };

  it('leaves the outcome of a call of class once open', async () => {
    const { calling } = await killed('hang_once', 'once');
    const error: unknown = await calling.catch((thrown: unknown) => thrown);
    // What is no TroupeError tells the actor that the outcome is not known.
    expect(error).toBeInstanceOf(Error);
    expect((error as { code?: string }).code).toBeUndefined();
  });

  it('lets a call that only reads be repeated, by another process', async () => {
    const { calling, call, folder } = await killed('hang_reading', 'repeatable');
    await expect(calling).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await eventually(async () => {
      expect(textOf(await call('hang_reading', { class: 'repeatable' }))).toBe('done');
    });
    expect(linesOf(folder, 'starts')).toHaveLength(2);
  });
});

it('an answer that is too long is the end of the call, not a reason to repeat it', async () => {
  const folder = scratchFolder();
  const { call } = openServers({ test: stdioEntry(folder) });
  expect(await call('big', { class: 'repeatable' })).toMatchObject({
    kind: 'done',
    result: {
      isError: true,
      text: expect.stringContaining('sent a message of more than 4194304 bytes'),
    },
  });
  expect(linesOf(folder, 'calls')).toEqual(['big']);
});

it('stops starting a process that ends at once, and says why', async () => {
  const folder = scratchFolder();
  let now = 1_000_000;
  const clock = {
    wallMs: () => now,
    monotonicMs: () => performance.now(),
    after: (delayMs: number, run: () => void) => {
      const timer = setTimeout(run, delayMs);
      timer.unref();
      return () => clearTimeout(timer);
    },
  };
  const entry = stdioEntry(folder, { env: { CRASH_AT_START: '1' } });
  const { servers, call, reports } = openServers({ test: entry }, { clock });
  for (let attempt = 0; attempt < 8; attempt++) {
    await expect(call('echo')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    now += 60_000;
  }
  expect(servers.states()).toMatchObject({
    test: { state: 'circuit-open', lastError: { message: expect.stringContaining('exit code 7') } },
  });
  expect(reports.filter(({ kind }) => kind === 'failure')).toHaveLength(5);
  now += 600_000;
  await expect(call('echo')).rejects.toThrow(/exit code 7/);
});

it('ends its process when it is closed', async () => {
  const { servers, call } = openServers({ test: stdioEntry(scratchFolder()) });
  const pid = Number(textOf(await call('pid')));
  expect(isAlive(pid)).toBe(true);
  await servers.close();
  expect(isAlive(pid)).toBe(false);
  await expect(call('pid')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

it('ends a process that is not used, and starts another one with the next call', async () => {
  const { call } = openServers({ test: stdioEntry(scratchFolder()) }, { idleMs: 50 });
  const pid = Number(textOf(await call('pid')));
  await eventually(() => expect(isAlive(pid)).toBe(false));
  expect(Number(textOf(await call('pid')))).not.toBe(pid);
});

it('gives each tenant a process of its own', async () => {
  const { call } = openServers({ test: stdioEntry(scratchFolder()) });
  const [one, other] = [await call('pid', { tenant: 'a' }), await call('pid', { tenant: 'b' })];
  expect(textOf(one)).not.toBe(textOf(other));
});

it('runs a program in the sandbox, where it sees its folder and no home', async () => {
  const root = STDIO_SERVER.replace(/\/test\/agent\/mcp\/.*$/, '');
  const env = { CALLS: '/tmp/calls', SECRET };
  const entry = {
    command: 'node',
    args: ['test/agent/mcp/stdio-server.program.mjs'],
    cwd: root,
    env,
  };
  const { call } = openServers({ test: entry });
  const text = textOf(await call('whoami'));
  expect(text).toMatch(/^\*\*\* /);
  expect(text).not.toContain(process.env['HOME'] ?? 'no home');
});

it('does not run a program without a sandbox, unless the configuration says so', async () => {
  const missing = {
    kind: 'auto' as const,
    run: () => Promise.reject(new Error('no sandbox works here')),
  };
  const boundaries = { sandbox: missing, host: missing };
  const { call, servers } = openServers({ test: { command: 'node' } }, { boundaries });
  await expect(call('echo')).rejects.toThrow(/no sandbox works here/);
  await expect(servers.list('test')).rejects.toThrow(/no sandbox works here/);
});
