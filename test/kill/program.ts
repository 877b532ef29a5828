/**
 * The real program as a child process: started, killed without mercy, started again on the same
 * data.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { ensureBuilt } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';

export const TOKEN = 'kill-test-token';

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

/** Resolves when `/readyz` says that every shard is owned. */
export async function startProgram(data: string, port: number): Promise<Program> {
  ensureBuilt();
  const args = [
    join(root, 'dist', 'troupe.js'),
    'start',
    '--data',
    data,
    '--port',
    String(port),
    '--token',
    TOKEN,
  ];
  const env = { ...process.env, ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', TROUPE_CONFIG: '' };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4_000)));
  const deadline = Date.now() + READY_WITHIN_MS;
  while (!(await answersReady(port))) {
    if (child.exitCode !== null)
      throw new Error(`the program ended with ${child.exitCode}:\n${said}`);
    if (Date.now() > deadline)
      throw new Error(`the program was not ready within ${READY_WITHIN_MS} ms:\n${said}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { child, url: `ws://127.0.0.1:${port}` };
}

async function answersReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200;
  } catch {
    return false;
  }
}

/** kill -9, and waits until the system has taken it away. */
export async function kill({ child }: Program): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}
