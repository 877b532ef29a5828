/**
 * A process that a test of faults started, and may kill, freeze and start again. Others are never
 * touched: it signals its own child only.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Guard } from '../guard.ts';

export type OwnProcessOptions = {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly guard: Guard;
  /** It ended, although this test did not end it. */
  readonly onCrash: (how: string) => void;
};

const PRINTED_CHARACTERS_MAX = 2_000;
const STOP_MS_MAX = 30_000;

export class OwnProcess {
  readonly name: string;
  readonly #options: OwnProcessOptions;
  #child: ChildProcess | undefined;
  #printed = '';

  constructor(options: OwnProcessOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /** The end of what it printed since its start. */
  get printed(): string {
    return this.#printed.trim();
  }

  /**
   * Starts it unless it runs. In a process group of its own: Ctrl-C at the terminal reaches the
   * test only, which ends it.
   * @param onLine receives its first line on stdout
   */
  start(onLine: (line: string) => void = () => {}, program = this.#options.program): void {
    if (this.isRunning) return;
    const { args, env, guard, onCrash } = this.#options;
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env });
    this.#child = child;
    this.#printed = '';
    guard.add(child);
    let [first, isWhole] = ['', false];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#print(text);
      if (isWhole) return;
      first += text;
      isWhole = first.includes('\n');
      if (isWhole) onLine(first.slice(0, first.indexOf('\n')));
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#print(text));
    child.on('error', (error) => this.#print(error.message));
    child.once('exit', (code, signal) => {
      if (this.#child === child) onCrash(signal ?? `exit code ${code}`);
    });
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /**
   * Resolves when it has ended; one that does not end within 30 s is killed.
   * @param signal default SIGKILL, which ends a frozen one, too
   */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    this.#child = undefined;
    const ended = once(child, 'exit');
    child.kill(signal);
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
    await ended;
    clearTimeout(late);
  }

  #print(text: string): void {
    this.#printed = (this.#printed + text).slice(-PRINTED_CHARACTERS_MAX);
  }
}
