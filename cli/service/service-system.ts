/**
 * The service systems: where each keeps a file, what the file contains, and which of its commands
 * start, stop and ask for a service.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import type { ServiceDescription } from './description.ts';
import { launchdLabel, launchdList } from './launchd.ts';
import { systemdUnit } from './systemd.ts';

type CommandLine = readonly string[];

export type ServiceSystem = {
  readonly title: string;
  /** absolute path of the service's file */
  readonly file: (name: string) => string;
  readonly text: (service: ServiceDescription) => string;
  /** Why its commands cannot run here; undefined if they can. */
  readonly absent: () => string | undefined;
  /** in order; they also start a changed file again */
  readonly start: (name: string) => readonly CommandLine[];
  /** to be run before the file is removed; they may fail, for a service that does not run */
  readonly stop: (name: string) => readonly CommandLine[];
  /** to be run after the file was removed */
  readonly forget: readonly CommandLine[];
  /** succeeds for a service that runs */
  readonly isRunning: (name: string) => CommandLine;
  /** what else a person has to do, if anything */
  readonly advice: (name: string) => readonly string[];
};

/** @throws TroupeError INVALID_ARGUMENT where there is neither system */
export function serviceSystem(system: boolean, platform = process.platform): ServiceSystem {
  if (platform === 'linux') return systemd(system);
  if (platform === 'darwin') return launchd(system);
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `troupe service knows systemd and launchd, and neither is on ${platform}. Windows: a scheduled task at logon that runs troupe start`,
  );
}

function systemd(system: boolean): ServiceSystem {
  const control = system ? ['systemctl'] : ['systemctl', '--user'];
  const folder = system
    ? '/etc/systemd/system'
    : join(process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'systemd', 'user');
  const unit = (name: string): string => `${name}.service`;
  return {
    title: system ? 'systemd' : 'systemd of this user',
    file: (name) => join(folder, unit(name)),
    text: systemdUnit,
    // what sd_booted() checks
    absent: () =>
      existsSync('/run/systemd/system') ? undefined : 'systemd does not run on this machine',
    start: (name) => [
      [...control, 'daemon-reload'],
      [...control, 'enable', unit(name)],
      [...control, 'restart', unit(name)],
    ],
    stop: (name) => [[...control, 'disable', '--now', unit(name)]],
    forget: [[...control, 'daemon-reload']],
    isRunning: (name) => [...control, 'is-active', '--quiet', unit(name)],
    advice: (name) => [
      ...(system || lingers()
        ? []
        : ['It stops when you log out, unless you run once: loginctl enable-linger']),
      `Its log: journalctl ${system ? '' : '--user '}-u ${name} -f`,
    ],
  };
}

const lingers = (): boolean => existsSync(join('/var/lib/systemd/linger', userInfo().username));

function launchd(system: boolean): ServiceSystem {
  const domain = system ? 'system' : `gui/${userInfo().uid}`;
  const folder = system ? '/Library/LaunchDaemons' : join(homedir(), 'Library', 'LaunchAgents');
  const target = (name: string): string => `${domain}/${launchdLabel(name)}`;
  const file = (name: string): string => join(folder, `${launchdLabel(name)}.plist`);
  return {
    title: 'launchd',
    file,
    text: launchdList,
    absent: () => (process.platform === 'darwin' ? undefined : 'launchd is not on this machine'),
    start: (name) => [
      ['launchctl', 'bootstrap', domain, file(name)],
      ['launchctl', 'kickstart', '-k', target(name)],
    ],
    stop: (name) => [['launchctl', 'bootout', target(name)]],
    forget: [],
    isRunning: (name) => ['launchctl', 'print', target(name)],
    advice: () => ['Its log is in the data folder'],
  };
}

/** Whether the command succeeded. */
export const succeeds = ([program, ...args]: CommandLine): boolean =>
  spawnSync(program!, args, { stdio: 'ignore' }).status === 0;

/** @throws TroupeError UNAVAILABLE with what the command printed */
export function run([program, ...args]: CommandLine): void {
  const { status, stderr, error } = spawnSync(program!, args, { encoding: 'utf8' });
  if (status === 0) return;
  const why = error?.message ?? stderr.trim();
  throw new TroupeError('UNAVAILABLE', `${[program, ...args].join(' ')} failed: ${why}`);
}
