/**
 * The built program as a separate process, as `npm start` runs it, with its own data folder and a
 * free port, and without this machine's configuration and keys.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { connectOperator } from '../../client/operator-client.ts';
import { reservePort } from '../../test/servers/reserve-port.ts';

/** The repository is two folders above bench/harness/ and above the bundle in dist/run/. */
const root = fileURLToPath(new URL('../..', import.meta.url));
export const bundle = join(root, 'dist', 'troupe.js');

/** The token of the gateway's operator. */
export const PROGRAM_TOKEN = 'bench-token-of-no-secret';
const READY_DEADLINE_MS = 20_000;
/** Time between two requests of /readyz, so that polling costs little. */
const LOOK_MS = 5;

export type Program = {
  readonly pid: number;
  readonly port: number;
  /** from the start of the process to the first 200, milliseconds */
  readonly readyMs: number;
  connect(): Promise<GatewayClient>;
  /** Stops the process in order; resolves when it has exited. */
  stop(): Promise<void>;
};

/**
 * Builds the program when its sources are newer. It runs in a separate process, because the build's
 * module must not be bundled. @throws Error when the build fails; esbuild has printed the reason
 */
export function ensureBuilt(): void {
  const code = "import('./tools/build.mjs').then((build) => build.ensureBuilt())";
  const { status } = spawnSync(process.execPath, ['-e', code], { cwd: root, stdio: [0, 2, 2] });
  if (status !== 0) throw new Error('the program could not be built');
}

/** Starts it as one process and waits for the first 200 of /readyz. */
export const startProgram = (folder: string): Promise<Program> =>
  startGatewayProcess(folder, ['start']);

/** Starts the gateway of a cluster; it is ready when a worker is available. */
export const startGateway = (folder: string, nats: string): Promise<Program> =>
  startGatewayProcess(folder, ['gateway', '--nats', nats, '--name', 'gateway']);

/** Starts a worker of a cluster. Resolves when it prints that it is ready. */
export async function startWorkerProgram(folder: string, name: string, nats: string) {
  const data = join(folder, 'data');
  const args = [bundle, 'worker', '--data', data, '--nats', nats, '--name', name, '--json'];
  const child = spawn(process.execPath, [...profiling(), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], ...environmentOf(folder) },
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`the worker ${name} could not be started`);
  const ended = once(child, 'exit');
  const isReady = await Promise.race([
    once(child.stdout, 'data').then(() => true),
    ended.then(() => false),
  ]);
  if (!isReady) throw new Error(`the worker ${name} ended with ${child.exitCode} at its start`);
  child.stdout.resume();
  return { pid, stop: () => stopped(child, ended) };
}

const environmentOf = (folder: string) => ({
  HOME: folder,
  TROUPE_OFFLINE_TOKENS_PER_SECOND: '0',
  // of the form of `openssl rand -hex 32`: any other one costs each process half a second
  TROUPE_CLUSTER_SECRET: '6a09e667f3bcc908bb67ae8584caa73b3c6ef372fe94f82ba54ff53a5f1d36f1',
});

async function startGatewayProcess(folder: string, role: readonly string[]): Promise<Program> {
  const port = await reservePort();
  const data = join(folder, 'data');
  const options = ['--port', String(port), '--data', data, '--token', PROGRAM_TOKEN];
  const args = [bundle, ...role, ...options];
  const program = await startServer(args, port, '/readyz', environmentOf(folder));
  const url = `ws://127.0.0.1:${port}`;
  return { ...program, port, connect: () => connectOperator({ url, token: PROGRAM_TOKEN }) };
}

/**
 * A bare Node process that answers HTTP: the minimum for any program of this kind.
 * @param listener its code (CommonJS); it answers a GET with 200
 */
export async function startBareServer(
  listener = '(_, response) => response.end()',
): Promise<Omit<Program, 'connect'>> {
  const port = await reservePort();
  const code = `require('node:http').createServer(${listener}).listen(${port}, '127.0.0.1')`;
  return { port, ...(await startServer(['-e', code], port, '/', {})) };
}

/** A bare server of the official MCP SDK with one tool; `mcp-server.ts` is its role. */
export async function startMcpServer(): Promise<Omit<Program, 'connect'>> {
  const port = await reservePort();
  const [bench = ''] = process.argv.slice(1);
  return { port, ...(await startServer([bench, 'mcp-server', String(port)], port, '/', {})) };
}

async function startServer(
  args: readonly string[],
  port: number,
  path: string,
  env: Readonly<Record<string, string>>,
) {
  const begun = performance.now();
  const child = spawn(process.execPath, [...profiling(), ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env['PATH'], ...env },
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('the program could not be started');
  const ended = once(child, 'exit');
  while (!(await answersOk(port, path))) {
    if (child.exitCode !== null) throw new Error(`the program ended with ${child.exitCode}`);
    if (performance.now() - begun > READY_DEADLINE_MS) {
      child.kill('SIGKILL');
      throw new Error(`the program was not ready within ${READY_DEADLINE_MS} ms`);
    }
    await sleep(LOOK_MS);
  }
  return { pid, readyMs: performance.now() - begun, stop: () => stopped(child, ended) };
}

function profiling(): readonly string[] {
  const folder = process.env['BENCH_PROFILES'];
  return folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`];
}

async function stopped(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM');
  await ended;
}

const answersOk = (port: number, path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('error', () => resolve(false));
  });
