/**
 * Child processes and their temporary folder that never outlive this process: they are killed, and
 * the folder is removed, also when this process is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';

/**
 * Receives the ids of running processes, and continues until its stdin ends, which the system
 * closes when this process is killed.
 */
const PROGRAM = `const [folder] = process.argv.slice(1);
const pids = new Set();
let rest = '';
process.stdin.setEncoding('utf8').on('data', (text) => {
  const lines = (rest + text).split('\\n');
  rest = lines.pop();
  for (const line of lines) pids[line[0] === '+' ? 'add' : 'delete'](Number(line.slice(1)));
}).on('end', () => {
  for (const pid of pids) try { process.kill(pid, 'SIGKILL'); } catch {}
  require('node:fs').rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
})`;

export class Guard {
  readonly #folder: string;
  readonly #running = new Set<ChildProcess>();
  readonly #process: ChildProcess;

  constructor(folder: string) {
    this.#folder = folder;
    const args = ['--input-type=commonjs', '-e', PROGRAM, folder];
    this.#process = spawn(process.execPath, args, {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      env: {},
    });
    // without a guard the test runs nevertheless
    this.#process.on('error', () => {});
    this.#process.stdin!.on('error', () => {});
    process.once('exit', this.#end);
  }

  /** Until the child exits. */
  add(child: ChildProcess): void {
    if (child.pid === undefined) return;
    this.#running.add(child);
    this.#process.stdin!.write(`+${child.pid}\n`);
    child.once('exit', () => {
      this.#running.delete(child);
      this.#process.stdin!.write(`-${child.pid}\n`);
    });
  }

  /** Kills the children that still run, and removes the folder. May be repeated. */
  close(): void {
    process.off('exit', this.#end);
    this.#end();
    this.#process.kill('SIGKILL');
  }

  readonly #end = (): void => {
    for (const child of this.#running) child.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  };
}
