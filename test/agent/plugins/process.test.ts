/**
 * One process of a plugin that breaks its protocol or cannot be started: its calls end, and this
 * process continues.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { PluginProcess, PROCESS_TIMES } from '../../../agent/plugins/plugin-process.ts';
import { MESSAGE_BYTES_MAX } from '../../../agent/plugins/wire.ts';
import { systemClock } from '../../../runtime/index.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { codeOf, opened, toolNamed, writePlugin } from './plugin-folder.ts';

const QUEUED_BYTES_MAX = 4 * MESSAGE_BYTES_MAX;

/** A process that never reads what it receives. */
async function deafProcess(): Promise<PluginProcess> {
  const settings = { config: {}, secrets: {}, flags: [], memoryMb: 64, times: PROCESS_TIMES };
  const how = { id: 'deaf', code: 'for (;;);', clock: systemClock, onPrint: () => {} };
  const started = await PluginProcess.start({ ...settings, ...how });
  onTestFinished(() => started.stop());
  return started;
}

const callOf = (input: string, signal: AbortSignal) =>
  ({ kind: 'tool', name: 't', input, about: {}, timeoutMs: 60_000, signal }) as const;

// Bug: the message that cancels a call was refused by the full queue, and this error, thrown by a
// timer or a signal, ended troupe.
it('a call of a process that does not read is cancelled, however full its queue is', async () => {
  const plugin = await deafProcess();
  const cancelled = new AbortController();
  const calls: Promise<unknown>[] = [];
  let isFull = false;
  const call = (characters: number) => {
    const made = plugin.call({
      ...callOf('x'.repeat(characters), cancelled.signal),
      onSent: () => void (isFull = false),
    });
    calls.push(made.catch((error: unknown) => error));
  };
  for (let bytes = QUEUED_BYTES_MAX / 5; bytes > 64; bytes = Math.floor(bytes / 2))
    for (isFull = false; !isFull; ) {
      isFull = true;
      call(bytes);
    }
  for (let bytes = 64; bytes >= 0; bytes--) call(bytes);
  cancelled.abort();
  const codes = (await Promise.all(calls)).map((error) => (error as { code?: string }).code);
  expect(new Set(codes)).toEqual(new Set(['CANCELLED', 'RATE_LIMIT_EXCEEDED']));
});

// Bug: Node emits no `exit` for a program that cannot be started, so the calls never ended. So it
// is when Node is replaced while troupe runs.
it('a process that cannot be started fails with the reason, and its calls end', async () => {
  const { tools, row } = await opened({
    one: {
      manifest: { tools: [toolNamed('one')] },
      code: codeOf('one', `tools: [{ name: 'one', run: () => 'well' }]`),
    },
  });
  const node = process.execPath;
  onTestFinished(() => void (process.execPath = node));
  process.execPath = '/does/not/exist';
  const context = { signal: new AbortController().signal } as never;
  await expect(tools[0]!.run({}, context)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('cannot be started: spawn /does/not/exist ENOENT'),
  });
  expect(row('one').state).toBe('backing-off');
});

// Bug: the process remained, and each further start added one.
it.runIf(existsSync('/proc/self'))(
  'settings that no message can have leave no process',
  async () => {
    const children = `/proc/${process.pid}/task/${process.pid}/children`;
    const read = () => readFileSync(children, 'utf8').trim().split(' ');
    const before = read();
    const settings = { secrets: {}, flags: [], memoryMb: 64, times: PROCESS_TIMES };
    const code = 'setInterval(() => {}, 1_000);';
    const how = { id: 'large', code, clock: systemClock, onPrint: () => {} };
    const config = { text: 'x'.repeat(MESSAGE_BYTES_MAX) };
    await expect(PluginProcess.start({ ...settings, ...how, config })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
    const added = () => read().filter((pid) => pid !== '' && !before.includes(pid));
    await eventually(() => expect(added()).toEqual([]), 5_000);
  },
);

// Bug: at this limit Node returns a child without streams, and emits an error, which ended troupe.
it('a plugin and a command that cannot be started for want of open files end nothing else', async () => {
  const home = scratchFolder();
  const run = `run: ({ exit }) => { if (exit) process.exit(3); return 'well'; }`;
  writePlugin(home, 'well', {
    manifest: { tools: [toolNamed('well')] },
    code: codeOf('well', `tools: [{ name: 'well', ${run} }]`),
  });
  write(home, 'troupe.json5', `{ plugins: { entries: { well: { enabled: true } } } }`);
  const program = 'test/agent/plugins/open-files.program.ts';
  const limited = ['-c', 'ulimit -n 256 && exec "$@"', 'sh', process.execPath, 'tools/run.mjs'];
  const { stdout } = await promisify(execFile)('/bin/sh', [...limited, program, home], {
    timeout: 50_000,
  });
  expect(stdout.split('\n')).toEqual([
    'well',
    'EMFILE',
    'the plugin well ended with exit code 3',
    'No pipes for a command: spawn /bin/sh EMFILE',
    expect.stringMatching(/^cannot be started: spawn .* EMFILE$/),
    'well',
    '',
  ]);
}, 60_000);
