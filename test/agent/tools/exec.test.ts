import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { alwaysPattern } from '../../../agent/policy/exec-patterns.ts';
import { probeBubblewrap } from '../../../agent/sandbox/bubblewrap.ts';
import { createSandbox } from '../../../agent/sandbox/choose.ts';
import { createHostBoundary } from '../../../agent/sandbox/host.ts';
import { createHostTools } from '../../../agent/tools/host-tools.ts';
import { KeptOutput } from '../../../agent/tools/exec/kept-output.ts';
import type { ToolContext } from '../../../agent/tools/tool.ts';
import { eventually } from '../../runtime/eventually.ts';
import { hostToolsBench, SANDBOXED } from './host-tools-fixture.ts';

const bench = hostToolsBench();
const exec = (args: Record<string, unknown>, over?: Partial<ToolContext>) =>
  bench.call('exec', args, over);
const processes = (args: Record<string, unknown>, over?: Partial<ToolContext>) =>
  bench.call('process', args, over);
const idIn = (text: string): string => /p-[0-9a-f]{8}/.exec(text)?.[0] ?? 'no id';

const noSandbox = await probeBubblewrap();
const places: [string, Partial<ToolContext>, string | undefined][] = [
  ['on the host', {}, undefined],
  ['in the sandbox', SANDBOXED, noSandbox],
];
const here = places.filter(([, , skip]) => skip === undefined);

describe.each(here)('exec %s', (_, over) => {
  it('refuses a command with a zero byte, and stores no part of it', async () => {
    const open = () => readdirSync('/proc/self/fd').length;
    const before = open();
    for (let count = 0; count < 10; count++) {
      expect(await exec({ command: 'echo a\0b' }, over)).toMatchObject({ isError: true });
      const env = { BAD: 'a\0b' };
      await expect(exec({ command: 'true' }, { ...over, env })).rejects.toThrow(
        /zero byte|null bytes/,
      );
    }
    expect(open()).toBeLessThan(before + 10);
  });

  it('returns output and exit code, and a failing command is an error', async () => {
    mkdirSync(join(bench.workspace, 'sub'));
    const done = await exec({ command: 'echo a > made; cat sub/../made', cwd: '.' }, over);
    expect(done).toEqual({ text: 'a\n[exit code 0]' });
    const failed = await exec({ command: 'printf wrong >&2; exit 7', cwd: 'sub' }, over);
    expect(failed).toEqual({ text: 'wrong\n[exit code 7]', isError: true });
    const nowhere = await exec({ command: 'true', cwd: 'made' }, over);
    expect(nowhere).toMatchObject({ isError: true });
  });

  it('uses bash, with an empty input and only the environment of skills', async () => {
    process.env['TROUPE_TEST_SECRET'] = 'hunter2';
    try {
      const command = 'cat; set -o pipefail; [[ $GIVEN == yes ]] && env';
      const { text } = await exec({ command }, { ...over, env: { GIVEN: 'yes' } });
      expect(text).toContain('GIVEN=yes');
      expect(text).not.toContain('hunter2');
    } finally {
      delete process.env['TROUPE_TEST_SECRET'];
    }
  });

  it('has streams that a shell can reopen, and reads no .bashrc', async () => {
    const command = 'cat /dev/stdin; echo a | tee /dev/stderr; test -p /dev/stdout && echo pipe';
    const { text } = await exec({ command }, over);
    expect(text.split('\n').sort()).toEqual(['[exit code 0]', 'a', 'a', 'pipe']);
  });

  it('keeps the end of a flood, counts the rest, and limits updates for watchers', async () => {
    let published = 0;
    const update = (delta: string) => (published += delta.length);
    const command = 'yes | head -c 300000000; echo the end';
    const { text } = await exec({ command }, { ...over, update });
    expect(text).toMatch(/^\[the first 29\d{7} of 300000008 bytes are left out\]\n/);
    expect(text.endsWith('the end\n[exit code 0]')).toBe(true);
    expect(Buffer.byteLength(text)).toBeLessThan(64 * 1024);
    expect(published).toBeLessThan(1_000_000);
  });

  it('publishes the output while it arrives', async () => {
    const seen: string[] = [];
    const running = exec(
      { command: 'echo first; while [ ! -e go ]; do sleep 0.01; done; echo second' },
      { ...over, update: (delta) => seen.push(delta) },
    );
    await eventually(() => expect(seen).toEqual(['first\n']));
    writeFileSync(join(bench.workspace, 'go'), '');
    await running;
    expect(seen).toEqual(['first\n', 'second\n']);
  });

  it('ends a command on timeout, and returns its output so far', async () => {
    const { text, isError } = await exec({ command: 'echo begun; sleep 30', timeoutSec: 1 }, over);
    expect(isError).toBe(true);
    expect(text).toMatch(/^begun\n\[its time was up/);
  });

  it('ends with its run', async () => {
    const abort = new AbortController();
    const running = exec({ command: 'touch begun; sleep 30' }, { ...over, signal: abort.signal });
    await eventually(() => expect(existsSync(join(bench.workspace, 'begun'))).toBe(true));
    abort.abort();
    await expect(running).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('goes to the background immediately, or after its time, and can be managed there', async () => {
    const abort = new AbortController();
    const inRun = { ...over, signal: abort.signal };
    const { text } = await exec({ command: 'read line; echo got $line', background: true }, inRun);
    const slow = await exec({ command: 'echo said; sleep 30', yieldMs: 1_500 }, inRun);
    // the end of the run that started them does not end them
    abort.abort();
    expect(slow.text).toMatch(/^said\n\[It still runs and went to the background as p-/);
    const listed = await processes({ action: 'list' }, over);
    expect(listed.text.split('\n')).toHaveLength(2);
    const id = idIn(text);
    expect((await processes({ action: 'poll', id }, over)).text).toContain('running');
    const written = await processes({ action: 'write', id, input: 'this\n', end: true }, over);
    expect(written.text).toContain('5 bytes');
    const ended = await processes({ action: 'wait', id }, over);
    expect(ended.text).toBe(`[${id}: exit code 0; output 0 to 9]\ngot this\n`);
    expect((await processes({ action: 'log', id, offset: 4 }, over)).text).toBe(
      `[${id}: output 4 to 9 of 9]\nthis\n`,
    );
    expect(await processes({ action: 'write', id, input: 'x' }, over)).toMatchObject({
      isError: true,
    });
    const other = idIn(slow.text);
    const waited = await processes({ action: 'wait', id: other, timeoutSec: 1 }, over);
    expect(waited.text).toContain('running');
    const killed = await processes({ action: 'kill', id: other }, over);
    expect(killed.text).toContain('a signal ended it');
  });
});

describe('background commands', () => {
  it('are visible only to their own session, and an unknown one is explained', async () => {
    const { text } = await exec({ command: 'sleep 30', background: true });
    const id = idIn(text);
    const foreign = await processes({ action: 'kill', id }, { sessionKey: 'agent:main:other' });
    expect(foreign.isError).toBe(true);
    expect(foreign.text).toContain('end with the worker that started them');
    expect((await processes({ action: 'list' }, { sessionKey: 'x' })).text).toContain('No ');
    expect((await processes({ action: 'kill', id })).text).toContain('a signal ended it');
  });

  it('are limited in number', async () => {
    const started = await Promise.all(
      Array.from({ length: 16 }, () => exec({ command: 'sleep 30', background: true })),
    );
    const over = await exec({ command: 'sleep 30', background: true });
    expect(over.text).toContain('16 background commands');
    for (const { text } of started) await processes({ action: 'kill', id: idIn(text) });
    const again = await exec({ command: 'true', background: true });
    expect(again.isError).toBeUndefined();
  });

  it('are refused when they would write to a copy that is saved without them', async () => {
    bench.use({ workspacesShared: false });
    const host = await exec({ command: 'true', background: true });
    const yielding = await exec({ command: 'true', yieldMs: 10 }, SANDBOXED);
    expect([host.isError, yielding.isError]).toEqual([true, true]);
    expect(host.text).toContain('a copy');
  });

  it.skipIf(noSandbox !== undefined)('may read such a copy from the sandbox', async () => {
    bench.use({ workspacesShared: false });
    writeFileSync(join(bench.workspace, 'there'), 'there');
    const command = 'cat there; echo lost > there';
    const { text } = await exec({ command, background: true }, SANDBOXED);
    expect(text).toContain('The workspace is read-only to it.');
    const ended = await processes({ action: 'wait', id: idIn(text) }, SANDBOXED);
    expect(ended.text).toContain('Read-only file system');
    expect(readFileSync(join(bench.workspace, 'there'), 'utf8')).toBe('there');
  });
});

describe('confinement', () => {
  it('never lets a sandboxed command run on the host when no sandbox works', async () => {
    bench.use({
      boundaries: {
        sandbox: createSandbox({}, async () => ({ missing: 'Install bubblewrap.' })),
        host: createHostBoundary(),
      },
    });
    const refused = await exec({ command: 'touch ran' }, SANDBOXED);
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain('Install bubblewrap.');
    expect(existsSync(join(bench.workspace, 'ran'))).toBe(false);
  });

  it('refuses commands on the host when read-only access could not be enforced', async () => {
    const confinement = { sandboxed: false, workspaceAccess: 'ro' as const };
    expect(await exec({ command: 'touch ran' }, { confinement })).toMatchObject({ isError: true });
    expect(existsSync(join(bench.workspace, 'ran'))).toBe(false);
  });

  it.skipIf(noSandbox !== undefined)(
    'gives a sandbox no more access than the session has',
    async () => {
      writeFileSync(join(bench.workspace, 'there'), 'there');
      const access = (workspaceAccess: 'ro' | 'none') => ({
        confinement: { sandboxed: true, workspaceAccess },
      });
      const reading = await exec({ command: 'cat there; touch ran' }, access('ro'));
      expect(reading.text).toContain('there');
      expect(reading.text).toContain('Read-only file system');
      const none = await exec(
        { command: 'ls /workspace' },
        { ...access('none'), workspace: () => Promise.reject(new Error('was opened')) },
      );
      expect(none).toMatchObject({ isError: true });
    },
  );
});

describe('the declaration of exec', () => {
  const tools = createHostTools({
    boundaries: { sandbox: createSandbox(), host: createHostBoundary() },
  });
  const named = (name: string) => tools.find((tool) => tool.name === name);

  it('runs a command once, but background commands may be read repeatedly', () => {
    expect(named('exec')).toMatchObject({ class: 'once', aliases: ['bash'], groups: ['runtime'] });
    const classes = ['list', 'poll', 'log', 'wait', 'write', 'kill'].map((action) =>
      named('process')?.classOf?.({ action }),
    );
    expect(classes).toEqual([...Array<string>(4).fill('repeatable'), 'once', 'once']);
    expect(['read', 'write', 'edit'].map((name) => named(name)?.class)).toEqual([
      'repeatable',
      'repeatable',
      'once',
    ]);
  });

  it('requests an approval for exactly the command that would run', () => {
    expect(named('exec')?.question?.({ command: 'rm -r x', cwd: 'sub', background: true })).toEqual(
      { command: 'rm -r x', detail: 'In the background, in sub: rm -r x' },
    );
    expect(named('read')?.question?.({ path: 'a' })).toBeUndefined();
  });

  it('requests an approval for input to a background command, which no pattern matches', () => {
    const asked = (args: object) => named('process')?.question?.(args);
    const { command = '' } = asked({ action: 'write', id: 'p-1', input: 'rm -r x\n' }) ?? {};
    expect(command).toContain('rm -r x\n');
    expect(alwaysPattern(command)).toBe('');
    expect(asked({ action: 'write', id: 'p-1', end: true })).toBeUndefined();
    expect(asked({ action: 'kill', id: 'p-1' })).toBeUndefined();
  });
});

describe('kept output', () => {
  it('keeps the end, at correct positions, and splits no character', () => {
    const output = new KeptOutput(100);
    for (let index = 0; index < 1_000; index++) output.add(Buffer.from('ü'));
    expect(output.total).toBe(2_000);
    const { text, from, to } = output.tail(5);
    expect({ text, from, to }).toEqual({ text: 'üü', from: 1_996, to: 2_000 });
    expect(output.from(0, 3)).toEqual({ text: 'ü', from: 1_900, to: 1_902 });
    expect(output.from(5_000, 3)).toEqual({ text: '', from: 2_000, to: 2_000 });
  });
});
