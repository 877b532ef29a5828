/**
 * Units of systemd. docs/service.md says what each option restricts, and which are left out.
 *
 * Invariants:
 *  1. Commands in the sandbox still start: no option forbids user namespaces, covers a part of
 *     /proc, or denies a system call that bubblewrap makes.
 *  2. V8 may make code executable: no `MemoryDenyWriteExecute`.
 *  3. Only the main process receives SIGTERM, so that commands and plugins end in its order.
 */
import { MARK, type ServiceDescription } from './description.ts';

/** Options that restrict every unit, by seccomp and process attributes: no privileges needed. */
const restrictions: readonly string[] = [
  'NoNewPrivileges=yes',
  'PrivateTmp=yes',
  'LockPersonality=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
  'SystemCallArchitectures=native',
  // @mount: bubblewrap builds the file system of a sandbox; without privileges of its own it can
  // do that only in a user namespace
  'SystemCallFilter=@system-service @mount @pkey sethostname',
  'SystemCallErrorNumber=EPERM',
  'UMask=0077',
];

/** For services of the machine, whose user has no business in the rest of it. */
const machineRestrictions: readonly string[] = [
  'CapabilityBoundingSet=',
  'AmbientCapabilities=',
  'PrivateDevices=yes',
  'ProtectClock=yes',
  'ProtectControlGroups=yes',
  'ProtectKernelModules=yes',
];

/** The text of the unit; the same description always makes the same text. */
export function systemdUnit(service: ServiceDescription): string {
  const { command, home, environmentFile, path, stopSeconds, user } = service;
  return [
    `# ${MARK} Change it by a drop-in: systemctl ${user === undefined ? '--user ' : ''}edit ${service.name}`,
    '[Unit]',
    `Description=troupe ${service.process}`,
    // the manager of a user has no such target
    ...(user === undefined ? [] : ['Wants=network-online.target', 'After=network-online.target']),
    // a failure of minutes, such as an unreachable server, must not end the restarts
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    // Node cannot send readiness or watchdog messages: `troupe service status` polls instead
    'Type=exec',
    `ExecStart=${command.map(quoted).join(' ')}`,
    `WorkingDirectory=${plainPath(home)}`,
    `Environment=${quotedValue(`PATH=${path}`)}`,
    `EnvironmentFile=-${plainPath(environmentFile)}`,
    ...(user === undefined ? [] : [`User=${user}`]),
    'Restart=on-failure',
    'RestartSec=2',
    // a wrong configuration stays wrong
    'RestartPreventExitStatus=2',
    'KillSignal=SIGTERM',
    'KillMode=mixed',
    `TimeoutStopSec=${stopSeconds}`,
    'LimitNOFILE=65536',
    // a command that runs out of memory must not stop the service
    'OOMPolicy=continue',
    '',
    ...restrictions,
    ...(user === undefined ? ['ProtectSystem=full'] : protectedMachine(service)),
    '',
    '[Install]',
    `WantedBy=${user === undefined ? 'default.target' : 'multi-user.target'}`,
    '',
  ].join('\n');
}

const protectedMachine = ({ home, writable }: ServiceDescription): string[] => [
  ...machineRestrictions,
  'ProtectSystem=strict',
  `ReadWritePaths=${[home, ...writable].map(quotedValue).join(' ')}`,
];

/** `%` begins a specifier in every value. */
const plainPath = (path: string): string => path.replaceAll('%', '%%');

/** One word of a list, in quotes. */
const quotedValue = (text: string): string =>
  `"${plainPath(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

/** One word of a command line, where `$` begins a variable, too. */
const quoted = (word: string): string => quotedValue(word.replaceAll('$', '$$$$'));
