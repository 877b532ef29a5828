/**
 * Docker (or Podman's `docker`): runs a command in its own container, removed when it ends. For
 * machines without user namespaces. It never pulls an image.
 *
 * The engine starts the processes, so this process cannot kill them directly. It ends the container
 * by name; a watchdog does so when this process dies, and `timeout` inside the container when
 * neither can. The engine enforces the memory limit: exit code 137.
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
      // a killed client leaves its container, and --rm may still be removing it
      remove();
      await removed;
      callOff();
    },
  });
}

/** The client's own settings: the engine's address, and the search path of programs. */
const clientEnv = (): Record<string, string> => {
  const set = CLIENT_VARIABLES.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(set);
};

/**
 * Asks the engine: undefined when it answers, otherwise why Docker cannot be used and what to do.
 */
export async function probeDocker(image = DOCKER_IMAGE_DEFAULT): Promise<string | undefined> {
  const engine = await call(['version', '--format', '{{.Server.Version}}']);
  if (engine === undefined) return 'Docker is not installed';
  if (engine.code !== 0) {
    return `Docker's engine does not answer: ${engine.said}. Start it, or set DOCKER_HOST`;
  }
  const found = await call(['image', 'inspect', '--format', '{{.Id}}', image]);
  return found?.code === 0 ? undefined : `Docker has no image ${image}: docker pull ${image}`;
}

/** Runs the client until it ends; undefined when it is not installed. */
async function call(
  argv: readonly string[],
): Promise<{ readonly code: number; readonly said: string } | undefined> {
  try {
    const options = { timeout: CALL_MS, killSignal: 'SIGKILL' } as const;
    const { stdout } = await promisify(execFile)(PROGRAM, argv, options);
    return { code: 0, said: stdout.trim() };
  } catch (error) {
    // an error code of a failed start, a number of an exit, null of a signal
    const { code, stderr = '' } = error as { code?: string | number | null; stderr?: string };
    if (code === 'ENOENT') return undefined;
    return { code: Number(code) || 1, said: stderr.trim().slice(0, 400) || 'it did not answer' };
  }
}
