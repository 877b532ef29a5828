/** The arguments by which Docker runs a command behind the boundary. Pure. */
import { WORKSPACE } from '../../protocols/sandbox/sandbox-paths.ts';
import type { SandboxedCommand } from './boundary.ts';
import {
  SANDBOX_HOME,
  standardEnv,
  TEMPORARY_BYTES,
  workingFolder,
} from './bubblewrap-arguments.ts';

export type DockerContainer = {
  /** unique; the container is ended by this name */
  readonly name: string;
  readonly image: string;
  /** user that owns the files it writes */
  readonly user: string;
};

/**
 * Variables that configure Docker's client: if a command sets one of them, its value is an
 * argument.
 */
export const CLIENT_VARIABLES = ['PATH', 'HOME', 'DOCKER_HOST', 'DOCKER_CONTEXT', 'DOCKER_CONFIG'];

/**
 * Values from skills are passed through the client's environment and only named here, so that no
 * list of processes shows them.
 */
const environmentOf = ({ env = {} }: SandboxedCommand): string[] =>
  Object.entries({ ...standardEnv(), ...env }).flatMap(([name, value]) => {
    const named = Object.hasOwn(env, name) && !CLIENT_VARIABLES.includes(name);
    return ['--env', named ? name : `${name}=${value}`];
  });

/**
 * The image needs `timeout` (coreutils or busybox): it ends the container even when the engine
 * cannot be reached any more.
 */
export function dockerArguments(command: SandboxedCommand, container: DockerContainer): string[] {
  const { network = false, limits, argv } = command;
  const memory = limits.memoryBytesMax;
  return [
    ...words(`run --rm --interactive --init --name ${container.name}`),
    ...words('--pull never --label troupe.sandbox --hostname agent'),
    ...words(`--network ${network ? 'bridge' : 'none'} --user ${container.user}`),
    ...words('--read-only --cap-drop ALL --security-opt no-new-privileges'),
    ...words(`--memory ${memory} --memory-swap ${memory} --pids-limit ${limits.processesMax}`),
    ...words(`--ulimit core=0 --ulimit fsize=${limits.fileBytesMax}`),
    ...words(`--shm-size ${TEMPORARY_BYTES.shm}`),
    ...temporary('/tmp', TEMPORARY_BYTES.tmp),
    ...temporary(SANDBOX_HOME, TEMPORARY_BYTES.home),
    ...workspaceOf(command),
    '--workdir',
    workingFolder(command),
    ...environmentOf(command),
    ...words(`--entrypoint timeout ${container.image}`),
    ...words(`-s KILL ${Math.ceil(limits.timeoutMs / 1000) + graceSeconds}`),
    ...argv,
  ];
}

/** The container's own timeout is this much later than ours. */
const graceSeconds = 5;

/** Splits arguments without spaces. */
const words = (line: string): string[] => line.split(' ');

const temporary = (path: string, size: number): string[] =>
  words(`--tmpfs ${path}:rw,exec,nosuid,nodev,mode=1777,size=${size}`);

/** A field of `--mount` is CSV; quotes allow a comma in a path. */
const workspaceOf = ({ workspace, access }: SandboxedCommand): string[] => {
  if (workspace === undefined || access === 'none') return [];
  const source = `"source=${workspace.replaceAll('"', '""')}"`;
  const readOnly = access === 'ro' ? ',readonly' : '';
  return ['--mount', `type=bind,${source},target=${WORKSPACE}${readOnly}`];
};
