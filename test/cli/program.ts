/** Runs the built program as a process, like a user. */
import { type ChildProcess, spawn } from 'node:child_process';
import { onTestFailed, onTestFinished } from 'vitest';
import { bundle, ensureBuilt } from '../../tools/build.mjs';
import { scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';

ensureBuilt();

export type RunOptions = {
  /** default: a new, empty one */
  readonly home?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** default: nothing; stdin is closed */
  readonly stdin?: string;
};

export type Ended = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

/** A running program: its output so far, and its end. */
export type Started = {
  readonly child: ChildProcess;
  stdout: string;
  stderr: string;
  readonly ended: Promise<Ended>;
};

/**
 * Starts it without configuration or keys of this machine; the caller kills it. For programs that
 * the tests of a file share. @param home default a new folder for the test that runs
 */
export function spawnProgram(args: readonly string[], options: RunOptions = {}): Started {
  const { home = scratchFolder(), env = {}, stdin } = options;
  const child = spawn(process.execPath, [bundle, ...args], {
    env: { PATH: process.env.PATH, HOME: home, NO_COLOR: '1', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let resolve: (ended: Ended) => void;
  const ended = new Promise<Ended>((settle) => {
    resolve = settle;
  });
  const started: Started = { child, stdout: '', stderr: '', ended };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (started.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (started.stderr += text));
  child.on('close', (code) => {
    resolve({ code, stdout: started.stdout, stderr: started.stderr });
  });
  // A program that exits without reading leaves a broken pipe, which is not an error of the test.
  child.stdin.on('error', () => {});
  if (stdin !== undefined) child.stdin.end(stdin);
  return started;
}

/**
 * As `spawnProgram`, killed when the test ends; a failed test shows what a program that still runs
 * has printed.
 */
export function startProgram(args: readonly string[], options: RunOptions = {}): Started {
  const started = spawnProgram(args, options);
  const { child } = started;
  onTestFailed(() => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    console.error('still running: troupe', ...args, `\n${started.stdout}${started.stderr}`);
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return started;
}

/** Runs it until it exits. */
export function runProgram(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return startProgram(args, { stdin: '', ...options }).ended;
}

/** What a program prints first with `--json`: it is ready. @throws what it printed to stderr */
export const announced = <Announcement>(
  program: Started,
  withinMs?: number,
): Promise<Announcement> =>
  eventually(() => {
    if (!program.stdout.includes('\n')) throw new Error(`it is not ready: ${program.stderr}`);
    return JSON.parse(program.stdout.split('\n', 1)[0]!) as Announcement;
  }, withinMs);
