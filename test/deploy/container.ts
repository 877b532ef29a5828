/**
 * A container without an engine: new namespaces of mounts and processes, a root of its own, and the
 * user, capabilities and mounts that deploy/Dockerfile and docker-compose.yml give a worker. Paths
 * of /proc are masked as engines do, unless the files named here grant them.
 *
 * An engine's seccomp filter and AppArmor profile are not here: a refusal comes from the masked
 * paths alone.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { scratchFolder } from '../runtime/config/folder.ts';

type Service = {
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly privileged?: boolean;
  readonly user?: string;
  readonly security_opt?: readonly string[];
};
const ROOT = new URL('../../', import.meta.url).pathname;
const shipped = (name: string): string => readFileSync(`${ROOT}${name}`, 'utf8');

/** The service `worker` of the compose files, of which compose merges the lists. */
export function workerOf(files: readonly string[]): Service {
  const all = files.map((name) => {
    const { services } = parse(shipped(name), { merge: true }) as {
      services: Record<string, Service>;
    };
    return services['worker'] ?? {};
  });
  const security_opt = all.flatMap((one) => one.security_opt ?? []);
  return { ...Object.assign({}, ...all), security_opt } as Service;
}

/** `node` of the image: 1000 */
const USER = '1000';

const SCRIPT = `
root=$1 app=$2 data=$3 node=$4 masked=$5 readonly=$6; shift 6
mount -t tmpfs tmpfs "$root"
for name in bin sbin lib lib32 lib64 libx32 usr etc; do
  if [ -L "/$name" ]; then cp -P "/$name" "$root/$name"
  elif [ -e "/$name" ]; then
    mkdir "$root/$name"; mount --rbind "/$name" "$root/$name"; mount -o remount,bind,ro "$root/$name"
  fi
done
mkdir "$root/app" "$root/data" "$root/tmp" "$root/proc" "$root/dev" "$root/old"
: > "$root/node"
mount --bind "$app" "$root/app"; mount -o remount,bind,ro "$root/app"
mount --bind "$data" "$root/data"
mount --bind "$node" "$root/node"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o nosuid,nodev,noexec,mode=1777 tmpfs "$root/tmp"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
if [ "$masked" = 1 ]; then
  for name in kcore keys timer_list; do
    [ ! -e "$root/proc/$name" ] || mount --bind /dev/null "$root/proc/$name"
  done
  for name in acpi scsi; do
    [ ! -d "$root/proc/$name" ] || mount -t tmpfs -o ro tmpfs "$root/proc/$name"
  done
  mount --bind "$root/proc/sys" "$root/proc/sys"; mount -o remount,bind,ro "$root/proc/sys"
fi
[ "$readonly" != 1 ] || mount -o remount,ro "$root"
cd "$root"
pivot_root . old
umount -l /old
exec "$@"
`;

/** Of the image; without tini where this machine has none. */
function entrypoint(): readonly string[] {
  const [, line = '[]'] = /^ENTRYPOINT (\[.*\])$/m.exec(shipped('deploy/Dockerfile')) ?? [];
  const words = (JSON.parse(line) as string[]).map((word) => (word === 'node' ? '/node' : word));
  return hasTini ? words : words.slice(words.indexOf('/node'));
}

export const hasTini = spawnSync('tini', ['--version']).status === 0;

// The first process outlives unshare: a change of the user clears what `--kill-child` sets.
const NAMESPACES = ['--mount', '--pid', '--fork', '--propagation', 'private'];

/** The command that runs `troupe ARGS` in the container. @param data folder of its volume /data */
export function inContainer(
  service: Service,
  data: string,
  args: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  const { security_opt = [], cap_drop = [], read_only = false } = service;
  const grants = new Set(security_opt);
  const drop = [
    `--reuid=${USER}`,
    `--regid=${USER}`,
    '--clear-groups',
    ...(cap_drop.includes('ALL') ? ['--bounding-set=-all', '--inh-caps=-all'] : []),
    ...(grants.has('no-new-privileges:true') ? ['--no-new-privs'] : []),
  ];
  const masked = grants.has('systempaths=unconfined') ? '0' : '1';
  const place = [scratchFolder(), ROOT, data, process.execPath, masked, read_only ? '1' : '0'];
  const program = ['setpriv', ...drop, ...entrypoint(), ...args];
  return {
    command: 'unshare',
    args: [...NAMESPACES, 'sh', '-ec', SCRIPT, 'container', ...place, ...program],
  };
}

/** A new folder that the user of the image owns. */
export function volume(): string {
  const folder = scratchFolder();
  chownSync(folder, Number(USER), Number(USER));
  return folder;
}

/** Why no container can be made here; undefined: one can. */
export function missingForContainers(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux';
  const tried = spawnSync('unshare', [
    '--mount',
    '--pid',
    '--fork',
    'mount',
    '-t',
    'proc',
    'proc',
    '/proc',
  ]);
  if (tried.status !== 0) return 'this machine forbids mounts';
  try {
    execFileSync('bwrap', ['--version']);
    execFileSync('setpriv', ['--version']);
  } catch {
    return 'needs bubblewrap and setpriv';
  }
  const bwrap = ['bwrap', '--unshare-all', '--ro-bind', '/', '/', '--proc', '/proc', 'true'];
  const user = spawnSync('setpriv', [`--reuid=${USER}`, '--clear-groups', ...bwrap]);
  return user.status === 0 ? undefined : 'this machine forbids user namespaces';
}
