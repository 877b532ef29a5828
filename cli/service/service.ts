/**
 * `troupe service`: writes the file of a service, starts and stops it, and reports on it.
 *
 * Invariants:
 *  1. `install` changes nothing that is already as it should be, and never replaces a file that it
 *     did not write, unless forced.
 *  2. `uninstall` never touches the data folder.
 *  3. No secret is in the file: variables are in a file of their own, which only its user reads.
 */
import {
  chownSync,
  existsSync,
  lstatSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import { makeFolder } from '../../runtime/make-folder.ts';
import { exitCodes } from '../exit.ts';
import { configuredOrigin, loadFrom, loadToStart } from '../options.ts';
import { printJson } from '../output.ts';
import { type DescribeOptions, describeService, MARK, serviceName } from './description.ts';
import { run, type ServiceSystem, serviceSystem, succeeds } from './service-system.ts';

export type ServiceOptions = DescribeOptions;

export type InstallOptions = ServiceOptions & {
  readonly print?: boolean;
  /** false with `--no-start` */
  readonly start?: boolean;
  readonly force?: boolean;
};

/** @throws TroupeError, ConfigError; nothing has changed then unless a command of systemd failed */
export async function install(options: InstallOptions): Promise<number> {
  const { config, file: read } = await loadToStart(options);
  const service = describeService(config, read ?? options.config ?? '', options);
  // A process of a cluster without a server ends with exit code 2, and its service stays stopped.
  if (service.process !== 'start' && !namesServer(service.environmentFile)) {
    const { natsNamed } = await import('../processes/node.ts');
    natsNamed(config);
  }
  const system = serviceSystem(options.system === true);
  const text = system.text(service);
  const file = system.file(service.name);
  if (options.print) {
    if (options.json) printJson({ file, text });
    else process.stdout.write(text);
    return exitCodes.ok;
  }
  makeFolder(config.home);
  const changed = writeOwn(file, text, options.force === true);
  const madeVariables = makeVariablesFile(service.environmentFile, service.user);
  const why = options.start === false ? '--no-start was given' : system.absent();
  const isRunning = why === undefined && succeeds(system.isRunning(service.name));
  if (why === undefined && (changed || !isRunning)) start(system, service.name);
  const notes = [
    ...(why === undefined ? system.advice(service.name) : notStarted(why, system, service.name)),
    ...(madeVariables
      ? [`Keys of models and other variables belong into ${service.environmentFile}`]
      : []),
    ...warnings(service.command, service.user, service.environmentFile),
  ];
  const origin = options.process === 'worker' ? undefined : await configuredOrigin(config);
  const address = origin && new URL(origin).host;
  const started = why === undefined;
  if (options.json) printJson({ file, changed, started, data: config.home, address, notes });
  else
    process.stdout.write(installed({ file, changed, started, origin, notes, title: system.title }));
  return exitCodes.ok;
}

type Installed = {
  readonly file: string;
  readonly changed: boolean;
  readonly started: boolean;
  readonly origin: string | undefined;
  readonly notes: readonly string[];
  readonly title: string;
};

const installed = ({ file, changed, started, origin, notes, title }: Installed): string =>
  [
    `${changed ? 'Wrote' : 'Nothing to change in'} ${file}`,
    ...(started ? [`troupe is a service of ${title} now`] : []),
    ...(origin === undefined ? [] : [`Its gateway: ${origin}/ (troupe open)`]),
    ...notes,
    '',
  ].join('\n');

function start(system: ServiceSystem, name: string): void {
  const commands = system.start(name);
  // launchd refuses a file under a name that it still has
  if (system.title === 'launchd') for (const command of system.stop(name)) succeeds(command);
  for (const command of commands) run(command);
}

const notStarted = (why: string, system: ServiceSystem, name: string): string[] => [
  `Not started: ${why}. To start it:`,
  ...system.start(name).map((command) => `  ${command.join(' ')}`),
];

/** Whether the file was absent or different. @throws TroupeError CONFLICT for another's file */
function writeOwn(file: string, text: string, force: boolean): boolean {
  const present = readOwn(file);
  if (present === text) return false;
  if (present !== undefined && !present.includes(MARK) && !force)
    throw new TroupeError(
      'CONFLICT',
      `${file} was not written by troupe service install: keep it, or replace it with --force`,
    );
  makeFolder(dirname(file), 0o755);
  try {
    // a link is replaced itself, and not the file that it names
    if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(file);
    writeFileSync(file, text, { mode: 0o644 });
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EACCES', 'EPERM', 'EROFS'].includes(code)) throw error;
    throw new TroupeError('FORBIDDEN', `${file} cannot be written: run the command with sudo`, {
      cause: error,
    });
  }
  return true;
}

/** Undefined if there is no file. @throws TroupeError CONFLICT for a folder of that name */
function readOwn(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  if (!statSync(file).isDirectory()) return readFileSync(file, 'utf8');
  throw new TroupeError('CONFLICT', `${file} is a folder: move it away first`);
}

/** Whether the variables of the service name a NATS server. */
const namesServer = (file: string): boolean =>
  existsSync(file) && /^TROUPE_NATS_URL=["']?[^"'\s]/m.test(readFileSync(file, 'utf8'));

const variablesText = `# Variables of the service, one NAME=value per line. Start it again after a change.
# ANTHROPIC_API_KEY=
# OPENAI_API_KEY=
# GEMINI_API_KEY=
`;

/** Whether it was absent. It then belongs to the user of the service. */
function makeVariablesFile(file: string, user: string | undefined): boolean {
  if (existsSync(file)) return false;
  writeFileSync(file, variablesText, { mode: 0o600 });
  // systemd itself reads the file as root; a data folder of another user stays that user's
  if (user !== undefined && process.getuid?.() === 0) {
    const { uid, gid } = statSync(dirname(file));
    chownSync(file, uid, gid);
  }
  return true;
}

/** Variables of this shell that a service does not inherit. */
const inherited = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'TROUPE_TOKEN'];

function warnings(
  command: readonly string[],
  user: string | undefined,
  variables: string,
): readonly string[] {
  const written = readFileSync(variables, 'utf8');
  const lacking = inherited.filter(
    (name) => process.env[name] && !new RegExp(`^\\s*${name}=`, 'm').test(written),
  );
  return [
    ...(lacking.length > 0
      ? [`The service does not have ${lacking.join(', ')} of this shell: write to ${variables}`]
      : []),
    ...(user === 'root' ? ['It runs as root: better name an own user with --run-as'] : []),
    ...(command.some((word) => word.includes('/_npx/'))
      ? ['npx may remove this copy of troupe: install the package, then repeat the command']
      : []),
  ];
}

/** Exit code 0 when it is installed and runs. */
export async function status(options: ServiceOptions): Promise<number> {
  const { config, file: read } = await loadFrom(options);
  const service = describeService(config, read ?? options.config ?? '', options);
  const system = serviceSystem(options.system === true);
  const file = system.file(service.name);
  const present = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  const absent = system.absent();
  const isInstalled = present !== undefined;
  const isRunning = isInstalled && absent === undefined && succeeds(system.isRunning(service.name));
  const isCurrent = present === system.text(service);
  const isReady = options.process === 'worker' ? undefined : await servesAt(config);
  const ok = isRunning && isReady !== false;
  if (options.json) {
    printJson({
      file,
      installed: isInstalled,
      current: isCurrent,
      running: isRunning,
      ready: isReady,
    });
    return ok ? exitCodes.ok : exitCodes.failure;
  }
  const lines = isInstalled
    ? [
        `installed: ${file}`,
        isCurrent ? 'current: yes' : 'current: no, troupe service install would change it',
        `running: ${isRunning ? 'yes' : `no${absent === undefined ? '' : `, ${absent}`}`}`,
        ...(isReady === undefined ? [] : [`ready: ${isReady ? 'yes' : 'no'}`]),
      ]
    : [`not installed: there is no ${file}`];
  process.stdout.write(`${lines.join('\n')}\n`);
  return ok ? exitCodes.ok : exitCodes.failure;
}

async function servesAt(config: Parameters<typeof configuredOrigin>[0]): Promise<boolean> {
  const { isTroupe } = await import('../processes/probe.ts');
  return isTroupe(await configuredOrigin(config));
}

/** May be repeated. */
export async function uninstall(options: ServiceOptions): Promise<number> {
  const { config } = await loadFrom(options);
  const system = serviceSystem(options.system === true);
  const name = serviceName(options.process ?? 'start');
  const file = system.file(name);
  const isInstalled = existsSync(file);
  if (isInstalled && !readFileSync(file, 'utf8').includes(MARK))
    throw new TroupeError('CONFLICT', `${file} was not written by troupe service install`);
  if (isInstalled) {
    const runs = system.absent() === undefined;
    if (runs) for (const command of system.stop(name)) succeeds(command);
    rmSync(file);
    if (runs) for (const command of system.forget) succeeds(command);
  }
  if (options.json) printJson({ file, removed: isInstalled, data: config.home });
  else
    process.stdout.write(
      `${isInstalled ? `Removed ${file}` : `Not installed: there is no ${file}`}\nThe data stays in ${config.home}\n`,
    );
  return exitCodes.ok;
}
