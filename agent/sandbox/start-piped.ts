/**
 * Starts a process whose three streams are kernel pipes. Node's own streams are sockets, with two
 * effects: a shell cannot reopen /dev/stderr (ENXIO), and bash assumes rshd and reads the user's
 * .bashrc.
 *
 * Node cannot create an anonymous pipe. On Linux a shell creates the pipes, and this process opens
 * them through /proc. The process would see the name of a named pipe in /proc/self/fd, with the
 * path of the machine's temporary folder. Other systems use named pipes, which are deleted as soon
 * as they are open.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { TroupeError } from '../../protocols/errors.ts';

export type Started = {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
};

export type StartOptions = {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** whether it leads its own process group; default false */
  readonly detached?: boolean;
  /** number of additional pipes from descriptor 3 on, created by Node; default 0 */
  readonly more?: number;
};

/** @throws TroupeError UNAVAILABLE when the program cannot be started */
export async function startPiped(
  program: string,
  argv: readonly string[],
  { more = 0, ...options }: StartOptions,
): Promise<Started> {
  const [input, output, errors] = await openPipes();
  const theirs = [input.reader, output.writer, errors.writer];
  const ours = [input.writer, output.reader, errors.reader];
  const stdio = [...theirs, ...Array<'pipe'>(more).fill('pipe')];
  let child: ChildProcess;
  try {
    child = spawn(program, argv, { ...options, stdio });
  } catch (cause) {
    // arguments that no process can receive: a zero byte, or too many words
    for (const descriptor of ours) closeSync(descriptor);
    throw cannotStart(program, cause);
  } finally {
    for (const descriptor of theirs) closeSync(descriptor);
  }
  const stdin = new Socket({ fd: input.writer, readable: false, writable: true });
  const stdout = new Socket({ fd: output.reader, readable: true, writable: false });
  const stderr = new Socket({ fd: errors.reader, readable: true, writable: false });
  // a process may end before it has read its input; this is not a failure
  stdin.on('error', () => {});
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
  } catch (cause) {
    for (const stream of [stdin, stdout, stderr]) stream.destroy();
    throw cannotStart(program, cause);
  }
  // sound: the process was spawned
  return { child, pid: child.pid as number, stdin, stdout, stderr };
}

const cannotStart = (program: string, cause: unknown): TroupeError => {
  const { message } = cause as Error;
  return new TroupeError('UNAVAILABLE', `${program} cannot be started: ${message}`, { cause });
};

type Pipe = { readonly reader: number; readonly writer: number };

type Pipes = readonly [Pipe, Pipe, Pipe];

const openPipes = (): Promise<Pipes> =>
  process.platform === 'linux' ? openUnnamedPipes() : openNamedPipes();

const HELPER_MS = 10_000;
/**
 * Holds the reading ends of three pipes as 4, 5 and 6, prints its process id, and waits for the end
 * of its input.
 */
const HELPER =
  'exec 3<&0; : | { exec 4<&0; : | { exec 5<&0; : | { exec 6<&0; ' +
  "exec /bin/sh -c 'echo $$; read -r _ <&3'; }; }; }";

async function openUnnamedPipes(): Promise<Pipes> {
  const how = { cwd: '/', env: {}, timeout: HELPER_MS } as const;
  const stdio = ['pipe', 'pipe', 'ignore'] as const;
  // At the limit of open files Node returns a child without streams, and emits `error`.
  const helper: ChildProcess = spawn('/bin/sh', ['-c', HELPER], { ...how, stdio: [...stdio] });
  helper.stdin?.on('error', () => {});
  try {
    const pid = await new Promise<number>((resolve, reject) => {
      helper.once('error', reject);
      helper.stdout?.once('data', (line: Buffer) => resolve(Number(line.toString())));
      helper.stdout?.once('end', () => reject(new Error('the shell ended too early')));
    });
    // sound: it opens one for each
    return openAll(
      [4, 5, 6].map((number) => `/proc/${pid}/fd/${number}`),
    ) as readonly Pipe[] as Pipes;
  } catch (cause) {
    throw noPipes(cause);
  } finally {
    helper.stdin?.destroy();
    helper.stdout?.destroy();
  }
}

const noPipes = (cause: unknown): TroupeError => {
  const { message } = cause as Error;
  return new TroupeError('UNAVAILABLE', `No pipes for a command: ${message}`, { cause });
};

async function openNamedPipes(): Promise<Pipes> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-pipes-'));
  try {
    const paths = [0, 1, 2].map((number) => join(folder, String(number)));
    await promisify(execFile)('mkfifo', ['-m', '600', ...paths]);
    return openAll(paths) as readonly Pipe[] as Pipes;
  } catch (cause) {
    throw noPipes(cause);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Opens all of them or none. */
function openAll(paths: readonly string[]): Pipe[] {
  const opened: Pipe[] = [];
  try {
    for (const path of paths) opened.push(openPipe(path));
    return opened;
  } catch (error) {
    for (const { reader, writer } of opened) [reader, writer].forEach((end) => closeSync(end));
    throw error;
  }
}

/** Opens each end separately, so that no end waits for the other. */
function openPipe(path: string): Pipe {
  // an end opened alone would block until the other one is opened
  const both = openSync(path, constants.O_RDWR);
  try {
    return { reader: openSync(path, 'r'), writer: openSync(path, 'w') };
  } finally {
    closeSync(both);
  }
}
