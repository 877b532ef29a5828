/**
 * The arguments of bubblewrap (bwrap(1)). Pure, except that it reads how this system lays out /bin
 * and /lib. The order matters: a later mount covers an earlier one.
 */
import { lstatSync, readlinkSync } from 'node:fs';
import { posix } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { TOP_FOLDERS, WORKSPACE } from '../../protocols/sandbox/sandbox-paths.ts';
import type { SandboxedCommand } from './boundary.ts';

export const SANDBOX_HOME = '/home/agent';
export const SANDBOX_PATH = '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin';

/** Size limits of temporary files, bytes; they use memory. */
export const TEMPORARY_BYTES = { tmp: 256 * 1024 ** 2, home: 64 * 1024 ** 2, shm: 16 * 1024 ** 2 };

/** Descriptors of the started bwrap in addition to its three streams. */
export const DESCRIPTORS = { info: 3, passwd: 4, group: 5, hosts: 6, options: 7 } as const;

/** Files created for the sandbox, because the system's own files list its users and hosts. */
export const MADE_FILES = {
  passwd: `agent:x:1000:1000:agent:${SANDBOX_HOME}:/bin/bash\nnobody:x:65534:65534:::/bin/false\n`,
  group: 'agent:x:1000:\nnogroup:x:65534:\n',
  hosts: '127.0.0.1 localhost\n::1 localhost\n',
} as const;

/** The files of /etc that programs need to run; none of them is secret. */
const ETC = [
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'alternatives',
  'ssl/certs',
  'ssl/openssl.cnf',
  'pki/tls/certs',
  'pki/ca-trust',
  'ca-certificates',
  'localtime',
  'timezone',
  'mime.types',
  'magic',
  'nsswitch.conf',
  'protocols',
  'services',
  'terminfo',
  'fonts',
  'python3',
  'python3.11',
  'perl',
] as const;

/**
 * The arguments that bwrap reads from the descriptor `options`, each ended by a zero byte. They
 * include the environment, which a list of processes would otherwise show.
 *
 * @throws TroupeError INVALID_ARGUMENT when an argument contains a zero byte
 */
export function bubblewrapOptions(command: SandboxedCommand): string {
  const options = optionsOf(command);
  const bad = options.find((option) => option.includes('\0'));
  if (bad === undefined) return options.map((option) => `${option}\0`).join('');
  throw new TroupeError(
    'INVALID_ARGUMENT',
    'The arguments or variables of a sandboxed command contain a zero byte',
  );
}

/** Its command line: the command, and no secret. */
export const bubblewrapArguments = (command: SandboxedCommand): string[] => [
  ...words(`--args ${DESCRIPTORS.options} --`),
  ...limited(command),
  ...command.argv,
];

function optionsOf(command: SandboxedCommand): string[] {
  const { network = false, env = {} } = command;
  return [
    ...words('--unshare-all --unshare-user --uid 1000 --gid 1000 --disable-userns'),
    ...words(network ? '--share-net' : ''),
    ...words('--hostname agent --die-with-parent --new-session --cap-drop ALL'),
    ...words(`--info-fd ${DESCRIPTORS.info}`),
    ...systemFolders(),
    ...ETC.flatMap((name) => words(`--ro-bind-try /etc/${name} /etc/${name}`)),
    ...namesOf(network),
    ...words('--proc /proc --dev /dev'),
    ...temporary('/dev/shm', TEMPORARY_BYTES.shm),
    ...words('--remount-ro /dev'),
    ...temporary('/tmp', TEMPORARY_BYTES.tmp),
    ...temporary(SANDBOX_HOME, TEMPORARY_BYTES.home),
    ...workspaceOf(command),
    ...words('--remount-ro / --clearenv'),
    ...Object.entries({ ...standardEnv(), ...env }).flatMap((pair) => ['--setenv', ...pair]),
  ];
}

/** Splits arguments without spaces. */
const words = (line: string): string[] => (line === '' ? [] : line.split(' '));

/** The environment of every sandboxed command. */
export const standardEnv = (): Record<string, string> => ({
  PATH: SANDBOX_PATH,
  HOME: SANDBOX_HOME,
  USER: 'agent',
  LANG: 'C.UTF-8',
});

/** Working folder of a command: in the workspace, or its home without a workspace. */
export const workingFolder = ({ workspace, access, cwd = '.' }: SandboxedCommand): string =>
  workspace === undefined || access === 'none' ? SANDBOX_HOME : posix.join(WORKSPACE, cwd);

const temporary = (path: string, size: number): string[] =>
  words(`--perms 0700 --size ${size} --tmpfs ${path}`);

const workspaceOf = (command: SandboxedCommand): string[] => {
  const { workspace, access } = command;
  const chdir = ['--chdir', workingFolder(command)];
  if (workspace === undefined || access === 'none') return chdir;
  return [access === 'rw' ? '--bind' : '--ro-bind', workspace, WORKSPACE, ...chdir];
};

/** Mounts /usr, and the folders beside it: on current systems they are links into /usr. */
const systemFolders = (): string[] => [
  ...words('--ro-bind /usr /usr --ro-bind-try /nix/store /nix/store'),
  ...TOP_FOLDERS.flatMap((name) => {
    const path = `/${name}`;
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (!found) return [];
    return found.isSymbolicLink()
      ? ['--symlink', readlinkSync(path), path]
      : ['--ro-bind', path, path];
  }),
];

const namesOf = (network: boolean): string[] => [
  ...words(`--ro-bind-data ${DESCRIPTORS.passwd} /etc/passwd`),
  ...words(`--ro-bind-data ${DESCRIPTORS.group} /etc/group`),
  ...words(
    network
      ? '--ro-bind-try /etc/hosts /etc/hosts --ro-bind-try /etc/resolv.conf /etc/resolv.conf'
      : `--ro-bind-data ${DESCRIPTORS.hosts} /etc/hosts`,
  ),
];

/**
 * Kernel limits per process, set inside the sandbox: there the process count is the sandbox's own,
 * not that of the host user.
 */
const limited = ({ limits }: SandboxedCommand): string[] => [
  'prlimit',
  `--nproc=${limits.processesMax}`,
  `--data=${limits.memoryBytesMax}`,
  `--fsize=${limits.fileBytesMax}`,
  '--core=0',
  '--',
];
