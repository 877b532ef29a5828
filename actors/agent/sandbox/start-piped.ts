/**
 * Starts a process whose three streams are pipes of the kernel. Node's own are sockets, and that
 * shows: a shell can not open /dev/stderr again (ENXIO), and bash takes a socket for rshd and runs
 * the user's .bashrc. Pipes without a name are not to be had in Node; these have one for the
 * moment that it takes to open them.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { TroupeError } from '../../../protocols/errors.ts';

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
  /** leads a process group of its own; default false */
  readonly detached?: boolean;
  /** how many descriptors from 3 on are pipes of Node; default 0 */
  readonly more?: number;
};

/** @throws TroupeError UNAVAILABLE when the program can not be started */
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
    // what no process can be given: a zero byte, too many words
    for (const descriptor of ours) closeSync(descriptor);
    throw cannotStart(program, cause);
  } finally {
    for (const descriptor of theirs) closeSync(descriptor);
  }
  const stdin = new Socket({ fd: input.writer, readable: false, writable: true });
  const stdout = new Socket({ fd: output.reader, readable: true, writable: false });
  const stderr = new Socket({ fd: errors.reader, readable: true, writable: false });
  // a process that ends before it has read its input is nobody's failure
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
  // right because it was spawned
  return { child, pid: child.pid as number, stdin, stdout, stderr };
}

const cannotStart = (program: string, cause: unknown): TroupeError => {
  const { message } = cause as Error;
  return new TroupeError('UNAVAILABLE', `${program} can not be started: ${message}`, { cause });
};

type Pipe = { readonly reader: number; readonly writer: number };

async function openPipes(): Promise<readonly [Pipe, Pipe, Pipe]> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-pipes-'));
  try {
    const paths = [0, 1, 2].map((number) => join(folder, String(number)));
    await promisify(execFile)('mkfifo', ['-m', '600', ...paths]);
    return openAll(paths) as readonly Pipe[] as readonly [Pipe, Pipe, Pipe];
  } catch (cause) {
    const { message } = cause as Error;
    throw new TroupeError('UNAVAILABLE', `No pipes for a command: ${message}`, { cause });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** All or none. */
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

/** Each end by itself, so that one does not wait because the other does not. */
function openPipe(path: string): Pipe {
  // one end alone would wait for the other to be opened
  const both = openSync(path, constants.O_RDWR);
  try {
    return { reader: openSync(path, 'r'), writer: openSync(path, 'w') };
  } finally {
    closeSync(both);
  }
}
