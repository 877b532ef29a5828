/**
 * Test programs in a separate process: bundled once, and started any number of times.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

export type Program = {
  /** @param softFileBytesMax the largest file it may write at first (RLIMIT_FSIZE, soft) */
  start(args: readonly string[], softFileBytesMax?: number): Child;
  remove(): Promise<void>;
};

export type Child = {
  readonly process: ChildProcess;
  /** complete lines of its standard output so far */
  lines(): readonly string[];
  stderr(): string;
  /** exit code, or the signal's name */
  readonly ended: Promise<number | string>;
};

/** Bundles inside the repository, so that packages resolve. */
export const bundle = async (entry: string): Promise<Program> => {
  const folder = await mkdtemp(join(import.meta.dirname, '.child-'));
  const outfile = join(folder, 'program.mjs');
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'warning',
  });
  return {
    start: (args, softFileBytesMax) => start(outfile, args, softFileBytesMax),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
};

const start = (
  file: string,
  args: readonly string[],
  softFileBytesMax: number | undefined,
): Child => {
  const command = [process.execPath, file, ...args];
  const limited = [
    'sh',
    '-c',
    'ulimit -S -f "$0" && exec "$@"',
    `${Math.floor((softFileBytesMax ?? 0) / 512)}`,
  ];
  const [program, ...rest] = softFileBytesMax === undefined ? command : [...limited, ...command];
  const child = spawn(program!, rest, { stdio: ['pipe', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const ended = new Promise<number | string>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  return {
    process: child,
    lines: () => out.split('\n').slice(0, -1),
    stderr: () => err,
    ended,
  };
};
