/**
 * The real program as child processes: started, killed without mercy, started again on the same
 * data. One process that is everything, or the gateway and the workers of a cluster.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { ensureBuilt } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';

export const TOKEN = 'kill-test-token';
/** What processes of a cluster join it with: each has a data folder of its own. */
export const CLUSTER_SECRET = 'a secret of the cluster that is killed';

/** A process, and where its gateway listens; '' for a worker, which has none. */
export type Program = { readonly child: ChildProcess; readonly url: string };

/** Milliseconds until the program must be ready; a deadline for the test, not a measure. */
const READY_WITHIN_MS = 30_000;

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Everything in one process. Resolves when `/readyz` says that every shard is owned. */
export const startProgram = (data: string, port: number): Promise<Program> =>
  startDoor(['start', '--data', data], port);

/** Resolves when `/readyz` says that it is of use: a worker is there. */
export const startGateway = (
  data: string,
  port: number,
  nats: string,
  name = 'door',
): Promise<Program> => startDoor(['gateway', '--data', data, '--nats', nats, '--name', name], port);

/** Resolves when it takes part: it says so with a line. */
export async function startWorker(data: string, name: string, nats: string): Promise<Program> {
  const child = run(['worker', '--data', data, '--nats', nats, '--name', name, '--json']);
  let said = '';
  child.stdout!.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await ready(child, () => said.includes('\n'));
  return { child, url: '' };
}

/** kill -9, and waits until the system has taken it away. */
export async function kill({ child }: Program): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

async function startDoor(args: readonly string[], port: number): Promise<Program> {
  const child = run([...args, '--port', String(port), '--token', TOKEN]);
  child.stdout!.resume();
  await ready(child, () => answersReady(port));
  return { child, url: `ws://127.0.0.1:${port}` };
}

function run(args: readonly string[]): ChildProcess {
  ensureBuilt();
  const env = {
    ...process.env,
    ANTHROPIC_API_KEY: '',
    OPENAI_API_KEY: '',
    TROUPE_CONFIG: '',
    TROUPE_CLUSTER_SECRET: CLUSTER_SECRET,
  };
  return spawn(process.execPath, [join(root, 'dist', 'troupe.js'), ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** @throws Error with what the program said, when it ended or took too long; it is gone then */
async function ready(child: ChildProcess, isReady: () => boolean | Promise<boolean>) {
  let said = '';
  child.stderr!.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4_000)));
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!(await isReady())) {
    if (child.exitCode !== null)
      throw new Error(`the program ended with ${child.exitCode}:\n${said}`);
    if (Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`the program was not ready within ${READY_WITHIN_MS} ms:\n${said}`);
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
