/**
 * The real program as child processes that tests start, kill with kill -9 and start again on the
 * same data: one process with everything, or the gateway and the workers of a cluster.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { bundle, ensureBuilt } from '../../tools/build.mjs';

export const TOKEN = 'kill-test-token';
/**
 * The secret with which processes join the cluster; each has its own data folder. Of the form of
 * `openssl rand -hex 32`: with a text of words each start takes half a second more.
 */
export const CLUSTER_SECRET = '5be0cd19137e2179a54ff53a1f83d9ab510e527f9b05688c3c6ef372bb67ae85';

/** A process and the URL of its gateway; '' for a worker. */
export type Program = { readonly child: ChildProcess; readonly url: string };

/** The program must be ready within this time; a deadline for the test, not a benchmark. */
const READY_WITHIN_MS = 120_000;

/**
 * Everything in one process. Resolves when `/readyz` reports that every shard has an owner.
 * @param build the program; default the one of this checkout
 */
export const startProgram = (data: string, port: number, build?: string): Promise<Program> =>
  startGatewayProcess(['start', '--data', data], port, build);

/** Resolves when `/readyz` reports that a worker is available. */
export const startGateway = (
  data: string,
  port: number,
  nats: string,
  name = 'gateway',
  build?: string,
): Promise<Program> =>
  startGatewayProcess(['gateway', '--data', data, '--nats', nats, '--name', name], port, build);

/**
 * Resolves when the worker prints the line that says it is ready.
 * @param build the program; default the one of this checkout
 */
export async function startWorker(
  data: string,
  name: string,
  nats: string,
  build?: string,
): Promise<Program> {
  const child = run(['worker', '--data', data, '--nats', nats, '--name', name, '--json'], build);
  let output = '';
  child.stdout!.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await ready(child, () => output.includes('\n'));
  return { child, url: '' };
}

/** Sends kill -9 and waits until the process has exited. */
export async function kill({ child }: Program): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

async function startGatewayProcess(
  args: readonly string[],
  port: number,
  build?: string,
): Promise<Program> {
  const child = run([...args, '--port', String(port), '--token', TOKEN], build);
  child.stdout!.resume();
  await ready(child, () => answersReady(port));
  return { child, url: `ws://127.0.0.1:${port}` };
}

let isBuilt = false;

function run(args: readonly string[], build: string = bundle): ChildProcess {
  // Once: it reads the state of every source, 20 ms, and kill tests start dozens of processes.
  if (!isBuilt) ensureBuilt();
  isBuilt = true;
  const env = {
    ...process.env,
    ANTHROPIC_API_KEY: '',
    OPENAI_API_KEY: '',
    TROUPE_CONFIG: '',
    TROUPE_CLUSTER_SECRET: CLUSTER_SECRET,
  };
  return spawn(process.execPath, [build, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** @throws Error with the program's stderr if it exits or misses the deadline; it is killed then */
async function ready(child: ChildProcess, isReady: () => boolean | Promise<boolean>) {
  let output = '';
  child.stderr!.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4_000)));
  const closed = once(child, 'close');
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!(await isReady())) {
    if (child.exitCode !== null) {
      // Its last output may arrive after its exit.
      await closed;
      throw new Error(`the program ended with ${child.exitCode}:\n${output}`);
    }
    if (Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`the program was not ready within ${READY_WITHIN_MS} ms:\n${output}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function answersReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200;
  } catch {
    return false;
  }
}
