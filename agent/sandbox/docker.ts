/**
 * Docker (or Podman's `docker`): a command in a container of its own, removed when it ends. For
 * machines without user namespaces. An image is never pulled by itself.
 *
 * The engine starts the processes, not we: so they are ended by name, by a watchdog when this
 * process dies, and by `timeout` inside when neither could. Memory past the limit is the engine's
 * to end: exit code 137.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import type { Boundary, RunningCommand, SandboxedCommand } from './boundary.ts';
import { CLIENT_VARIABLES, dockerArguments } from './docker-arguments.ts';
import { killNow } from './process-tree.ts';
import { startPiped } from './start-piped.ts';
import { supervise } from './supervised.ts';
import { whenThisProcessDies } from './watchdog.ts';

const PROGRAM = 'docker';
const CALL_MS = 20_000;
export const DOCKER_IMAGE_DEFAULT = 'debian:12-slim';

export const createDocker = (options: { readonly image?: string } = {}): Boundary => ({
  kind: 'docker',
  run: (command) => run(command, options.image ?? DOCKER_IMAGE_DEFAULT),
});

async function run(command: SandboxedCommand, image: string): Promise<RunningCommand> {
  const name = `troupe-${randomUUID()}`;
  const user = `${process.getuid?.() ?? 1000}:${process.getgid?.() ?? 1000}`;
  const started = await startPiped(PROGRAM, dockerArguments(command, { name, image, user }), {
    env: { ...command.env, ...clientEnv() },
  });
  const callOff = whenThisProcessDies('docker rm --force "$1"', [name]);
  let removed: Promise<unknown> | undefined;
  const remove = () => {
    removed ??= call(['rm', '--force', name]).finally(() => killNow(started.pid));
  };
  return supervise(started, {
    limits: command.limits,
    signal: command.signal,
    sampled: false,
    kill: remove,
    async gone() {
      // a client that was killed leaves its container, and --rm may still be at it
      remove();
      await removed;
      callOff();
    },
  });
}

/** The client's own settings: which engine, and where its programs are. */
const clientEnv = (): Record<string, string> => {
  const set = CLIENT_VARIABLES.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(set);
};

/** Why Docker cannot be used here and what to do; undefined when it can: its engine answered. */
export async function probeDocker(image = DOCKER_IMAGE_DEFAULT): Promise<string | undefined> {
  const engine = await call(['version', '--format', '{{.Server.Version}}']);
  if (engine === undefined) return 'Docker is not installed';
  if (engine.code !== 0) {
    return `Docker's engine does not answer: ${engine.said}. Start it, or set DOCKER_HOST`;
  }
  const found = await call(['image', 'inspect', '--format', '{{.Id}}', image]);
  return found?.code === 0 ? undefined : `Docker has no image ${image}: docker pull ${image}`;
}

/** Runs the client to its end; undefined when there is none. */
async function call(
  argv: readonly string[],
): Promise<{ readonly code: number; readonly said: string } | undefined> {
  try {
    const options = { timeout: CALL_MS, killSignal: 'SIGKILL' } as const;
    const { stdout } = await promisify(execFile)(PROGRAM, argv, options);
    return { code: 0, said: stdout.trim() };
  } catch (error) {
    // of a failed start, a number of an exit, null of a signal
    const { code, stderr = '' } = error as { code?: string | number | null; stderr?: string };
    if (code === 'ENOENT') return undefined;
    return { code: Number(code) || 1, said: stderr.trim().slice(0, 400) || 'it did not answer' };
  }
}
