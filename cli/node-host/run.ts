/** `troupe node run`: makes this machine a node of a gateway, until it is stopped. */
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { patternFault, patternWarning } from '../../agent/policy/exec-patterns.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { exitCodes } from '../exit.ts';
import { type ClientOptions, gatewayOf, loadToConnect } from '../options.ts';
import { Answers } from './answers.ts';
import { fileCommands, type Root } from './file-commands.ts';
import { NodeHost, type NodeHostOptions } from './host.ts';
import { Identity } from '../client/device-identity.ts';
import { notifyCommand } from './notify-command.ts';
import { runCommands, type RunMode } from './run-command.ts';

export type NodeRunOptions = ClientOptions & {
  /** display name; default: the host name */
  readonly displayName?: string;
  /** `path`, `path:ro` or `path:rw` */
  readonly root?: readonly string[];
  readonly allow?: readonly string[];
  readonly exec: RunMode | 'off';
};

export async function run(options: NodeRunOptions): Promise<number> {
  const stop = new AbortController();
  const end = () => stop.abort();
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
  await new NodeHost(await hostOptions(options)).run(stop.signal);
  return exitCodes.ok;
}

async function hostOptions(options: NodeRunOptions): Promise<NodeHostOptions> {
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  const { config } = await loadToConnect(options);
  const { url, token, password } = await gatewayOf(options);
  const folder = join(config.home, 'node');
  const roots = (options.root ?? []).map(rootOf);
  const { exec, allow = [] } = options;
  for (const pattern of allow) assertPattern(pattern, say);
  const commands = [
    ...(exec === 'off' ? [] : runCommands({ mode: exec, allow })),
    ...fileCommands(roots),
    notifyCommand(say),
  ];
  return {
    url,
    ...defined({ token, password, name: options.displayName }),
    identity: Identity.in(folder),
    answers: new Answers(join(folder, 'answers')),
    commands,
    caps: [
      ...(exec === 'off' ? [] : ['system']),
      ...(roots.length === 0 ? [] : ['fs']),
      'notifications',
    ],
    permissions: {
      system: exec === 'off' ? 'denied' : exec === 'ask' ? 'undetermined' : 'granted',
      fs: roots.length === 0 ? 'denied' : 'granted',
      notifications: 'granted',
    },
    say,
  };
}

/** @throws TroupeError INVALID_ARGUMENT for a path that is not a folder */
function rootOf(given: string): Root {
  const [, path = given, access = 'ro'] = /^(.*):(ro|rw)$/.exec(given) ?? [];
  const folder = resolve(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    return { path: folder, access: access === 'rw' ? 'rw' : 'ro' };
  throw new TroupeError('INVALID_ARGUMENT', `--root ${given}: ${folder} is not a folder`);
}

function assertPattern(pattern: string, say: (line: string) => void): void {
  const fault = patternFault(pattern);
  if (fault !== undefined)
    throw new TroupeError('INVALID_ARGUMENT', `--allow '${pattern}' allows nothing: ${fault}`);
  const warning = patternWarning(pattern);
  if (warning !== undefined) say(`warning: --allow '${pattern}': ${warning}`);
}
