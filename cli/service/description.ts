/**
 * What a service runs, independent of the operating system: the program with its arguments, its
 * folders and its time limits, from the configuration and the command line.
 */
import { existsSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { type Config, namedFolders } from '../../runtime/config/index.ts';
import type { CommonOptions } from '../options.ts';

export const serviceProcesses = ['start', 'gateway', 'worker'] as const;

export type ServiceProcess = (typeof serviceProcesses)[number];

export type ServiceDescription = {
  readonly process: ServiceProcess;
  /** `troupe`, or `troupe-gateway` and `troupe-worker`: name of the unit and of the file */
  readonly name: string;
  /** the whole command line: Node, the launcher, its arguments */
  readonly command: readonly string[];
  /** data and working folder */
  readonly home: string;
  /** `NAME=value` lines for the process, mode 0600; it may be absent */
  readonly environmentFile: string;
  /** value of PATH */
  readonly path: string;
  /** time from SIGTERM to SIGKILL, above what the process needs to stop */
  readonly stopSeconds: number;
  /** other folders that the process writes to */
  readonly writable: readonly string[];
  /** of a service of the machine; undefined for a service of the user */
  readonly user: string | undefined;
};

/** The first line of each file, by which `install` and `uninstall` recognize it. */
export const MARK = 'Written by troupe service install.';

/** A worker hands over and then closes; `troupe start` and gateways have less to do. */
const CLOSE_SECONDS = 20;

/** In which all services find system programs; that of Node comes first. */
const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export type DescribeOptions = CommonOptions & {
  readonly process?: ServiceProcess;
  readonly system?: boolean;
  readonly runAs?: string;
};

export const serviceName = (process: ServiceProcess): string =>
  process === 'start' ? 'troupe' : `troupe-${process}`;

/**
 * @param file the configuration file that is in use
 * @throws TroupeError INVALID_ARGUMENT for `--run-as` without `--system`, and for names of folders
 *   that no unit can contain
 */
export function describeService(
  config: Config,
  file: string,
  options: DescribeOptions,
): ServiceDescription {
  const { process: what = 'start' } = options;
  const node = process.execPath;
  const command = [node, launcher(), what, '--data', config.home, ...argumentsOf(file, options)];
  const writable = namedFolders(config)
    .map(({ folder }) => folder)
    .filter((folder) => !`${folder}/`.startsWith(`${config.home}/`));
  const user = userOf(options);
  for (const text of [...command, ...writable, user ?? '']) assertOneLine(text);
  return {
    process: what,
    name: serviceName(what),
    command,
    home: config.home,
    environmentFile: join(config.home, 'service.env'),
    path: `${dirname(node)}:${systemPath}`,
    stopSeconds: config.cluster.drainSeconds + CLOSE_SECONDS,
    writable: [...new Set(writable)].toSorted(),
    user,
  };
}

/**
 * A port or file that was given here is the service's, too; the others are read from the
 * configuration at each start.
 */
function argumentsOf(file: string, options: DescribeOptions): string[] {
  const port = options.port ?? process.env['TROUPE_PORT'];
  const given = options.config ?? process.env['TROUPE_CONFIG'];
  const { nats = process.env['TROUPE_NATS_URL'] } = options;
  return [
    ...(given === undefined ? [] : ['--config', resolve(file)]),
    ...(port === undefined || options.process === 'worker' ? [] : ['--port', port]),
    ...(nats === undefined || (options.process ?? 'start') === 'start' ? [] : ['--nats', nats]),
  ];
}

/**
 * The launcher of the installed package, which stays where it is when a new version is installed.
 */
export function launcher(program = process.argv[1]!): string {
  const own = realpathSync(program);
  const installed = join(dirname(own), '..', 'bin', 'troupe.js');
  return basename(dirname(own)) === 'dist' && existsSync(installed) ? installed : own;
}

function userOf({ system, runAs }: DescribeOptions): string | undefined {
  if (system) return runAs ?? process.env['SUDO_USER'] ?? userInfo().username;
  if (runAs === undefined) return undefined;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    '--run-as needs --system: a service of the user runs as that user',
  );
}

function assertOneLine(text: string): void {
  if (!/\p{Cc}/u.test(text)) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `a service cannot use ${JSON.stringify(text)}: it contains a control character`,
  );
}
