/** What Docker is told to run a command behind the boundary: pure. */
import { WORKSPACE } from '../../protocols/sandbox-paths.ts';
import type { SandboxedCommand } from './boundary.ts';
import {
  SANDBOX_HOME,
  standardEnv,
  TEMPORARY_BYTES,
  workingFolder,
} from './bubblewrap-arguments.ts';

export type DockerContainer = {
  /** unique: what it is ended by */
  readonly name: string;
  readonly image: string;
  /** who owns what it writes */
  readonly user: string;
};

/** Variables that steer Docker's client: a command that has one of them gets it by value. */
export const CLIENT_VARIABLES = ['PATH', 'HOME', 'DOCKER_HOST', 'DOCKER_CONTEXT', 'DOCKER_CONFIG'];

/**
 * Values that skills gave are in the client's environment and only named here, so that no list of
 * processes tells them.
 */
const environmentOf = ({ env = {} }: SandboxedCommand): string[] =>
  Object.entries({ ...standardEnv(), ...env }).flatMap(([name, value]) => {
    const named = Object.hasOwn(env, name) && !CLIENT_VARIABLES.includes(name);
    return ['--env', named ? name : `${name}=${value}`];
  });

/**
 * The image needs `timeout` (coreutils or busybox): it bounds the container's life even when the
 * engine hears nothing from us any more.
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

/** How much later than ours the container's own time is up. */
const graceSeconds = 5;

/** Arguments of which none holds a space. */
const words = (line: string): string[] => line.split(' ');

const temporary = (path: string, size: number): string[] =>
  words(`--tmpfs ${path}:rw,exec,nosuid,nodev,mode=1777,size=${size}`);

/** A field of `--mount` is CSV: quoted, a comma in a path is no new field. */
const workspaceOf = ({ workspace, access }: SandboxedCommand): string[] => {
  if (workspace === undefined || access === 'none') return [];
  const source = `"source=${workspace.replaceAll('"', '""')}"`;
  const readOnly = access === 'ro' ? ',readonly' : '';
  return ['--mount', `type=bind,${source},target=${WORKSPACE}${readOnly}`];
};
