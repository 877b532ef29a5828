/**
 * A program of this folder (`NAME.program.ts`, NAME with its subfolder), bundled and run as a
 * process that a test kills. It reports to the test by lines that it appends to files of its data
 * folder.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll } from 'vitest';
import * as esbuild from 'esbuild';
import { nodeBundle } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';
import { eventually } from '../runtime/eventually.ts';

export class BundledProgram {
  readonly #file: string;
  #child: ChildProcess | undefined;

  constructor(name: string) {
    this.#file = join(root, 'dist', 'run', `test-${name.replaceAll('/', '-')}-program.mjs`);
    beforeAll(async () => {
      await esbuild.build({
        ...nodeBundle,
        entryPoints: [join(root, `test/kill/${name}.program.ts`)],
        outfile: this.#file,
      });
    });
    afterEach(() => void this.#child?.kill('SIGKILL'));
  }

  /** Starts the program and sends kill -9 when `isReached` does not throw. */
  async killWhen(args: readonly string[], isReached: () => void): Promise<void> {
    const child = this.#start(args);
    child.stdout!.resume();
    await eventually(isReached);
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** Runs the program to its end and returns what it printed. */
  async output(args: readonly string[]): Promise<string> {
    const child = this.#start(args);
    let output = '';
    child.stdout!.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await once(child, 'close');
    return output;
  }

  #start(args: readonly string[]): ChildProcess {
    this.#child = spawn(process.execPath, [this.#file, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return this.#child;
  }
}

/** The lines of a file in a data folder; none if the file does not exist. */
export const linesOf = (data: string, file: string): readonly string[] =>
  existsSync(join(data, file))
    ? readFileSync(join(data, file), 'utf8').split('\n').filter(Boolean)
    : [];
