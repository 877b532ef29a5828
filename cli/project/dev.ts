/**
 * `troupe dev FILE`: runs a program of a project, in TypeScript or JavaScript, and starts it again
 * when one of its files changes. Actors keep their state, which is in the data folder of the
 * program. A file with a mistake is reported, and the program that runs stays. At a terminal, the
 * first start opens the page on the actors and their charts. When the store of the program failed,
 * which no change of a file repairs, it ends.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, parse, resolve } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { DEV_REPORTS, type DevReport } from '../../library/dev-reports.ts';
import { exitCodes } from '../exit.ts';
import { openBrowser } from '../open-browser.ts';
import { aborted, untilSignal } from '../processes/signals.ts';

const LOOPBACK_URL = /^http:\/\/(127\.0\.0\.1|\[::1\]):\d+\//;
/** Until a program that was asked to stop is killed, milliseconds. Nothing is lost by that. */
const STOP_MS = 10_000;
/** How often the parent process is looked at, milliseconds. */
const PARENT_MS = 1_000;

export type DevOptions = {
  /** false: the page is not opened; default true, at a terminal */
  readonly open?: boolean;
};

/** Whether the page opens by itself: at a terminal, and never where a machine runs the command. */
export const opensPage = (
  { open = true }: DevOptions,
  { isTerminal, env }: { readonly isTerminal: boolean; readonly env: NodeJS.ProcessEnv },
): boolean => open && isTerminal && !env['CI'];

/**
 * Resolves after a signal.
 * @throws TroupeError INVALID_ARGUMENT without such a file; UNAVAILABLE when the store failed
 */
export async function dev(file: string, options: DevOptions = {}): Promise<number> {
  const entry = resolve(file);
  if (!existsSync(entry))
    throw new TroupeError('INVALID_ARGUMENT', `${entry} does not exist: name the file to run`);
  const folder = projectOf(entry);
  const built = join(folder, 'node_modules', '.cache', 'troupe', 'dev', 'main.mjs');
  const isTerminal = process.stdout.isTTY;
  const program = new Program(built, folder, opensPage(options, { isTerminal, env: process.env }));
  const { context } = await import('esbuild');
  const stop = AbortSignal.any([untilSignal(), untilOrphaned()]);
  const watching = await context({
    entryPoints: [entry],
    outfile: built,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    sourcemap: 'inline',
    logLevel: 'error',
    plugins: [
      {
        name: 'run',
        setup: (building) =>
          building.onEnd(({ errors }) => (errors.length === 0 ? program.restart() : undefined)),
      },
    ],
  });
  await watching.watch();
  const failure = await Promise.race([aborted(stop), program.failed]);
  await watching.dispose();
  await program.stop();
  if (failure !== undefined) throw new TroupeError('UNAVAILABLE', failure);
  return exitCodes.ok;
}

/**
 * Aborted when the process that started this one is gone: npm, if it is killed, does not always
 * pass the signal on, and a program that is left would keep its port.
 */
function untilOrphaned(): AbortSignal {
  const orphaned = new AbortController();
  const parent = process.ppid;
  const look = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(look);
    orphaned.abort();
  }, PARENT_MS);
  look.unref();
  return orphaned.signal;
}

/** The nearest folder with a package.json, else that of the file. */
function projectOf(file: string): string {
  for (let folder = dirname(file); folder !== parse(folder).root; folder = dirname(folder))
    if (existsSync(join(folder, 'package.json'))) return folder;
  return dirname(file);
}

/** One process at a time. */
class Program {
  readonly #file: string;
  readonly #folder: string;
  /** the first start opens the page */
  #opens: boolean;
  #child: ChildProcess | undefined;
  #changing: Promise<void> = Promise.resolve();
  /** Resolves with the reason when its store failed. */
  readonly failed: Promise<string>;
  #fail!: (reason: string) => void;

  constructor(file: string, folder: string, opens: boolean) {
    this.#file = file;
    this.#folder = folder;
    this.#opens = opens;
    this.failed = new Promise((settle) => (this.#fail = settle));
  }

  restart(): Promise<void> {
    return this.#change(async () => {
      if (this.#child) process.stderr.write('troupe dev: a file changed; starting again\n');
      await this.#end();
      const args = ['--enable-source-maps', this.#file];
      const env = { ...process.env, [DEV_REPORTS]: '1' };
      const child = spawn(process.execPath, args, {
        cwd: this.#folder,
        env,
        stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      });
      this.#child = child;
      child.on('message', (message) => {
        // A program that is being replaced no longer counts.
        if (this.#child === child) this.#onReport((message ?? {}) as Partial<DevReport>);
      });
      // After its messages.
      child.on('close', (code, signal) => {
        if (this.#child !== child) return;
        this.#child = undefined;
        const how = signal ?? `exit code ${code}`;
        process.stderr.write(`troupe dev: the program ended (${how}); it waits for a change\n`);
      });
    });
  }

  #onReport(report: Partial<DevReport>): void {
    if ('failure' in report) this.#fail(String(report.failure));
    else if ('url' in report) this.#openPage(report.url);
  }

  #openPage(url: unknown): void {
    if (!this.#opens || typeof url !== 'string' || !LOOPBACK_URL.test(url)) return;
    this.#opens = false;
    void openBrowser(url);
  }

  stop(): Promise<void> {
    return this.#change(() => this.#end());
  }

  /** One change after the other. */
  #change(work: () => Promise<void>): Promise<void> {
    return (this.#changing = this.#changing.then(work));
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    const ended = new Promise((end) => child.once('exit', end));
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(late);
  }
}
