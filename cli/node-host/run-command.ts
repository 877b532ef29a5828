/**
 * `system.run` and `system.which`: programs of this machine, with the rights of the user who runs
 * the node.
 *
 * Invariants: a command line that no `--allow` pattern covers runs only after an approval. A
 * command receives PATH, HOME, LANG and the variables that its caller passes, never the node's
 * environment. When its time is up, or no caller waits any more, all processes that it started are
 * ended.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { AnyKey } from '../../protocols/any-key.ts';
import { isAllowedCommand } from '../../agent/policy/exec-patterns.ts';
import { createHostBoundary } from '../../agent/sandbox/host.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { type CommandContext, defineCommand, type HostCommand } from './command.ts';

/**
 * `ask`: requires an approval unless a pattern allows it; `deny`: only what a pattern allows;
 * `allow`: everything.
 */
export type RunMode = 'ask' | 'deny' | 'allow';
export type RunPolicy = { readonly mode: RunMode; readonly allow: readonly string[] };

/** Limit of each output stream. The rest is left out, and the answer says so. */
const OUTPUT_BYTES_MAX = 200_000;
const RUN_MS_DEFAULT = 30_000;
/** Names of variables that can change which code a program runs. */
const REFUSED_ENV =
  /^(PATH|HOME|SHELL|IFS|ENV|BASH_ENV|LD_.*|DYLD_.*|NODE_OPTIONS|PYTHON.*|PERL5?.*|RUBY.*|GIT_.*|TROUPE_.*)$/i;

const RunParams = Type.Object({
  /** a program and its arguments, or a shell command */
  command: Type.Union([
    Type.Array(Type.String({ maxLength: 32_768 }), { minItems: 1, maxItems: 256 }),
    Type.String({ minLength: 1, maxLength: 32_768 }),
  ]),
  /** absolute; default: the home folder */
  cwd: Type.Optional(Type.Union([Type.String({ maxLength: 4_096 }), Type.Null()])),
  env: Type.Optional(
    Type.Union([Type.Record(AnyKey, Type.String({ maxLength: 8_192 })), Type.Null()]),
  ),
  timeoutMs: Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Null()])),
});
type RunParams = (typeof RunParams)['static'];

export const runCommands = (policy: RunPolicy): readonly HostCommand[] => [
  defineCommand({
    name: 'system.run',
    description:
      'Runs a program: `command` as a list of words, or as one shell command; `cwd`, `env`, `timeoutMs`.',
    params: RunParams,
    run: (params, context) => run(params, policy, context),
  }),
  defineCommand({
    name: 'system.which',
    description: 'Returns the paths of programs: `bins`, a list of names.',
    params: Type.Object({
      bins: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: 100 }),
    }),
    run: ({ bins }) => Promise.resolve({ bins: found(bins) }),
  }),
];

const run = async (params: RunParams, policy: RunPolicy, context: CommandContext) => {
  const line = lineOf(params.command);
  const cwd = folderOf(params.cwd ?? undefined);
  const env = envOf(params.env ?? {});
  await assertMay(line, { cwd, env }, policy, context);
  const timeoutMs = Math.min(params.timeoutMs ?? RUN_MS_DEFAULT, context.timeoutMs);
  const running = await createHostBoundary().run({
    argv: typeof params.command === 'string' ? ['/bin/sh', '-c', line] : params.command,
    workspace: cwd,
    access: 'rw',
    env,
    network: true,
    limits: { timeoutMs, memoryBytesMax: Infinity, processesMax: 4_096, fileBytesMax: Infinity },
    signal: context.signal,
  });
  running.stdin.end();
  const [stdout, stderr] = [collected(running.stdout), collected(running.stderr)];
  const { code, ended } = await running.end;
  return {
    exitCode: code,
    success: code === 0,
    timedOut: ended === 'timeout',
    ...(ended === 'exit' ? {} : { ended }),
    stdout: stdout.text(),
    stderr: stderr.text(),
    truncated: stdout.isCut() || stderr.isCut(),
  };
};

/** @throws TroupeError FORBIDDEN when it may not run; then nothing was executed */
const assertMay = async (
  line: string,
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
  { mode, allow }: RunPolicy,
  context: CommandContext,
): Promise<void> => {
  const names = Object.keys(env);
  // A variable can make an allowed program do something else, so this needs an approval as well.
  if (mode === 'allow' || (names.length === 0 && isAllowedCommand(line, allow))) return;
  if (mode === 'deny') {
    throw new TroupeError(
      'FORBIDDEN',
      'this node runs only what its owner allowed: start it with --allow for this command',
    );
  }
  const given = names.map((name) => `${name}=${env[name]}`).join(' ');
  await context.ask({ command: line, detail: `In ${cwd}: ${given}${given && ' '}${line}` });
};

/** The text that an approval shows and that patterns are matched with, quoted as for a shell. */
const lineOf = (command: RunParams['command']): string => {
  const words = typeof command === 'string' ? [command] : command;
  if (words.some((word) => word.includes('\0')))
    throw new TroupeError('INVALID_ARGUMENT', '/command contains a zero byte');
  return typeof command === 'string' ? command : command.map(quoted).join(' ');
};
const quoted = (word: string): string =>
  /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

const folderOf = (given = homedir()): string => {
  const isThere = isAbsolute(given) && statSync(given, { throwIfNoEntry: false })?.isDirectory();
  if (isThere) return given;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `/cwd ${given.slice(0, 200)} is not a folder of the node`,
  );
};

const envOf = (given: Readonly<Record<string, string>>): Record<string, string> => {
  for (const name of Object.keys(given)) {
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !REFUSED_ENV.test(name)) continue;
    throw new TroupeError('FORBIDDEN', `/env/${name.slice(0, 64)} may not be set by a caller`);
  }
  return { ...given };
};

const collected = (stream: NodeJS.ReadableStream) => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (bytes < OUTPUT_BYTES_MAX) chunks.push(chunk.subarray(0, OUTPUT_BYTES_MAX - bytes));
    bytes += chunk.length;
  });
  return {
    text: () => Buffer.concat(chunks).toString('utf8'),
    isCut: () => bytes > OUTPUT_BYTES_MAX,
  };
};

const found = (bins: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    bins.flatMap((bin): [string, string][] => {
      const path = pathOf(bin);
      return path === undefined ? [] : [[bin, path]];
    }),
  );

const pathOf = (bin: string): string | undefined => {
  if (/[\\/\0]/.test(bin)) return undefined;
  const folders = (process.env['PATH'] ?? '/usr/bin:/bin').split(delimiter);
  return folders.map((folder) => join(folder, bin)).find(isProgram);
};

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
};
