/**
 * Starts Node for a plugin: an empty environment, the permissions of its flags, and four pipes. Its
 * program comes through stdin, so that it may read no file.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex, Readable, Writable } from 'node:stream';
import { errorData } from '../../protocols/errors.ts';

/** A process of Node that waits for its program. */
export type Spawned = {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly stdin: Writable;
  readonly output: Readable;
  readonly errors: Readable;
  /** for messages */
  readonly pipe: Duplex;
};

/**
 * @param flags of Node
 * @throws Error when the process cannot be started: Node was replaced, or there are too many
 *   processes or open files
 */
export async function spawnPlugin(flags: readonly string[]): Promise<Spawned> {
  const stdio = ['pipe', 'pipe', 'pipe', 'pipe'] as const;
  // In a group of its own: Ctrl-C ends troupe, which then ends the process when it is no longer
  // needed, together with the programs that it started.
  const isolated = { env: {}, cwd: '/', detached: true };
  const argv = [...flags, '--input-type=module', '-'];
  const child = spawn(process.execPath, argv, { ...isolated, stdio: [...stdio] });
  try {
    // Without it a child has no `exit`, and at the limit of open files no streams either.
    await once(child, 'spawn');
  } catch (error) {
    throw new Error(`cannot be started: ${errorData(error).message}`, { cause: error });
  }
  // sound: the process was spawned, and stdio has four pipes
  const [pid, pipe] = [child.pid as number, child.stdio[3] as Duplex];
  return { child, pid, pipe, stdin: child.stdin, output: child.stdout, errors: child.stderr };
}
