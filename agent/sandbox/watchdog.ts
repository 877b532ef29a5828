/**
 * A watchdog: a small process that outlives this one and then ends what it left behind. It reads
 * from a pipe that only this process holds; the pipe's end is this process' end, however it came.
 */
import { spawn } from 'node:child_process';
import { killNow } from './process-tree.ts';

/**
 * Runs `script` by `sh` with `argv` as $1, $2, … when this process dies.
 *
 * @returns what calls it off
 */
export function whenThisProcessDies(script: string, argv: readonly string[]): () => void {
  const dog = spawn('/bin/sh', ['-c', `read _ || :; ${script}`, 'sh', ...argv], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  dog.on('error', () => {});
  dog.stdin.on('error', () => {});
  dog.unref();
  return () => {
    // ended before its pipe is closed, or it would do its work
    if (dog.pid !== undefined) killNow(dog.pid);
    dog.stdin.destroy();
  };
}
