/**
 * A watchdog: a small process that outlives this one and cleans up after it. It reads from a pipe
 * whose other end only this process holds, so the end of the pipe means that this process ended.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { killNow } from './process-tree.ts';

/**
 * Runs `script` by `sh` with `argv` as $1, $2, … when this process dies.
 *
 * @returns a function that cancels it
 */
export function whenThisProcessDies(script: string, argv: readonly string[]): () => void {
  // At the limit of open files Node returns one without streams, which has failed.
  const dog: ChildProcess = spawn('/bin/sh', ['-c', `read _ || :; ${script}`, 'sh', ...argv], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  dog.on('error', () => {});
  dog.stdin?.on('error', () => {});
  dog.unref();
  return () => {
    // kill it before its pipe closes, or it would run the script
    if (dog.pid !== undefined) killNow(dog.pid);
    dog.stdin?.destroy();
  };
}
