/** Runs Python programs that use the SDK of this repository. */
import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const SDK = pathOf('../../../protocols/sdk/python');

/** Why Python cannot run here; undefined if it can. The SDK requires 3.8. */
export const withoutPython = ((): string | undefined => {
  const check = 'import sys; sys.exit(0 if sys.version_info >= (3, 8) else 1)';
  const { error, status } = spawnSync('python3', ['-c', check]);
  if (error) return 'NOT TESTED: there is no python3 on this machine';
  return status === 0 ? undefined : 'NOT TESTED: python3 is older than 3.8';
})();

export type Running = {
  /** each complete line of stdout as JSON */
  readonly said: readonly unknown[];
  /** the last one, after a successful end. @throws with its stderr */
  readonly ended: Promise<unknown>;
};

/** A scenario of scenarios.py; killed when the test ends. */
export function startScenario(name: string, env: Record<string, string>, stdin = ''): Running {
  const child = spawn('python3', ['-I', '-c', START, pathOf('scenarios.py'), SDK, name], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said: unknown[] = [];
  let rest = '';
  let complaint = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) said.push(JSON.parse(line));
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
  child.stdin.on('error', () => {}).end(stdin);
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve(said.at(-1)) : reject(new Error(`${name}: ${code} ${complaint}`)),
    );
  });
  ended.catch(() => {});
  return { said, ended };
}

/** Isolated: nothing but the SDK and the standard library can be found. */
const START = [
  'import runpy, sys',
  '_, program, sdk, *rest = sys.argv',
  'sys.dont_write_bytecode = True',
  'sys.path.insert(0, sdk)',
  'sys.argv = [program, *rest]',
  "runpy.run_path(program, run_name='__main__')",
].join('\n');
