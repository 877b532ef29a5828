/**
 * `exec`: a shell command in the workspace, behind the boundary of its session. On the host it may
 * need an approval (`question`); in a sandbox it never does.
 *
 * Invariants:
 *  1. A sandboxed session's command never runs on the host: without a sandbox it is refused.
 *  2. A command has the environment of its boundary and of skills, and nothing of troupe's own.
 *  3. When the call ends, no process that it started runs, unless the model received its process
 *     id.
 */
import { type Static, Type } from '@sinclair/typebox';
import { stripVTControlCharacters } from 'node:util';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Boundary, SandboxedCommand, SandboxLimits } from '../../sandbox/boundary.ts';
import { DEFAULT_LIMITS } from '../../sandbox/supervised.ts';
import { orRefusal } from '../files/file-access.ts';
import { isFolder, PathRefused, workspacePath } from '../files/paths.ts';
import { endInWords, keep, type Processes, RUNNING_MAX, type StartedCommand } from './processes.ts';
import { LiveOutput } from './live-output.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from '../tool.ts';

export type ExecOptions = {
  readonly boundaries: {
    /** for sandboxed sessions; throws UNAVAILABLE when no sandbox works */
    readonly sandbox: Boundary;
    /** for all other sessions */
    readonly host: Boundary;
  };
  /** whether sandboxed commands have network access; default false */
  readonly network?: boolean;
  /** time limit of a command without its own `timeoutSec`; default 120 */
  readonly timeoutSeconds?: number;
  /** memory limit of a sandboxed command with all its processes; default 1,024; none on the host */
  readonly memoryMb?: number;
  /**
   * Whether the workspace folder is still the agent's after a call has ended; default true. When
   * false, the folder is a copy that is saved at the end of the call, so background commands may
   * only read it.
   */
  readonly workspacesShared?: boolean;
};

const FOREGROUND_SECONDS_MAX = 3_600;
const BACKGROUND_SECONDS = 3_600;
const BACKGROUND_SECONDS_MAX = 86_400;
/**
 * Maximum output in a result; below the registry's limit, so that the end of the output is kept.
 */
const SHOWN_BYTES_MAX = 60 * 1024;

/** On the host the user's own limits apply; these only stop a runaway command. */
const HOST_LIMITS: SandboxLimits = {
  ...DEFAULT_LIMITS,
  memoryBytesMax: Infinity,
  processesMax: 4_096,
};

const Parameters = Type.Object(
  {
    command: Type.String({ minLength: 1, maxLength: 32_768, description: 'for bash, or sh' }),
    cwd: Type.Optional(
      Type.String({
        maxLength: 4_096,
        description: 'working folder, relative to the workspace; default its top',
      }),
    ),
    timeoutSec: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: BACKGROUND_SECONDS_MAX,
        description: 'time limit, after which the command and all its processes are ended',
      }),
    ),
    background: Type.Optional(
      Type.Boolean({ description: 'answer at once with a process id; see the tool process' }),
    ),
    yieldMs: Type.Optional(
      Type.Integer({
        minimum: 10,
        maximum: 600_000,
        description: 'move the command to the background if it still runs after this time',
      }),
    ),
  },
  { additionalProperties: false },
);
type Arguments = Static<typeof Parameters>;

export const createExecTool = (options: ExecOptions, processes: Processes): Tool =>
  defineTool({
    name: 'exec',
    aliases: ['bash'],
    groups: ['runtime'],
    description:
      'Runs a shell command in the workspace and answers with its output and exit code. ' +
      'Its input is empty. Use background for programs that keep running (servers, watchers).',
    parameters: Parameters,
    class: 'once',
    parallel: false,
    timeoutMs: (FOREGROUND_SECONDS_MAX + 60) * 1_000,
    question: ({ command, cwd, background = false }) => ({
      command,
      detail: `${background ? 'In the background, in' : 'In'} ${cwd ?? 'the workspace'}: ${command}`,
    }),
    run: (args, context) =>
      orRefusal(async () => {
        const call = new ExecCall(args, context, options, processes);
        return call.run();
      }),
  });

class ExecCall {
  readonly #args: Arguments;
  readonly #context: ToolContext;
  readonly #options: ExecOptions;
  readonly #processes: Processes;
  /**
   * Ends the command. The call's own signal triggers it only while the call is in the foreground.
   */
  readonly #stop = new AbortController();

  constructor(args: Arguments, context: ToolContext, options: ExecOptions, processes: Processes) {
    this.#args = args;
    this.#context = context;
    this.#options = options;
    this.#processes = processes;
  }

  async run(): Promise<ToolResult> {
    if (this.#args.command.includes('\0')) {
      throw new PathRefused('The command contains a zero byte, which no program can receive.');
    }
    this.#checkBackground();
    const { boundaries } = this.#options;
    const boundary = this.#context.confinement.sandboxed ? boundaries.sandbox : boundaries.host;
    const command = await this.#sandboxed();
    const live = new LiveOutput((delta) => this.#context.update(delta));
    const running = await boundary.run(command).catch(refusedWithoutSandbox);
    const publish = (stream: 0 | 1, chunk: Buffer) => live.add(stream, chunk);
    let isPublishing = true;
    const started = keep(this.#args.command, running, this.#context.secrets, (stream, chunk) => {
      if (isPublishing) publish(stream, chunk);
    });
    try {
      if (this.#args.background) return this.#toBackground(started, 'It runs in the background');
      return await this.#inForeground(started);
    } finally {
      isPublishing = false;
      live.end();
    }
  }

  /** @throws PathRefused, before anything runs, when the command cannot go to the background */
  #checkBackground(): void {
    const { background, yieldMs, timeoutSec = 0 } = this.#args;
    const mayStay = background === true || yieldMs !== undefined;
    if (!mayStay && timeoutSec > FOREGROUND_SECONDS_MAX) {
      throw new PathRefused(
        `At most ${FOREGROUND_SECONDS_MAX} seconds in the foreground: use background.`,
      );
    }
    if (!mayStay) return;
    if (!this.#processes.hasRoom(this.#context)) {
      throw new PathRefused(
        `${RUNNING_MAX} background commands of this session run already: kill one (tool process).`,
      );
    }
    if (this.#options.workspacesShared ?? true) return;
    const { sandboxed } = this.#context.confinement;
    if (sandboxed && yieldMs === undefined) return;
    throw new PathRefused(
      'Here the workspace is a copy that is saved when a call ends, so what a command writes in ' +
        'the background would be lost: run it in the foreground.',
    );
  }

  async #sandboxed(): Promise<SandboxedCommand> {
    const { confinement, env } = this.#context;
    return {
      argv: ['/bin/sh', '-c', shell(this.#args.background), 'sh', this.#args.command],
      ...(await this.#folder()),
      access: this.#access(),
      env,
      network: confinement.sandboxed && (this.#options.network ?? false),
      limits: this.#limits(),
      signal: this.#stop.signal,
    };
  }

  #limits(): SandboxLimits {
    const { background = false, yieldMs, timeoutSec } = this.#args;
    const { timeoutSeconds = DEFAULT_LIMITS.timeoutMs / 1_000, memoryMb } = this.#options;
    const mayStay = background || yieldMs !== undefined;
    const standard = mayStay
      ? BACKGROUND_SECONDS
      : Math.min(timeoutSeconds, FOREGROUND_SECONDS_MAX);
    const timeoutMs = (timeoutSec ?? standard) * 1_000;
    if (!this.#context.confinement.sandboxed) return { ...HOST_LIMITS, timeoutMs };
    const memoryBytesMax =
      memoryMb === undefined ? DEFAULT_LIMITS.memoryBytesMax : memoryMb * 1024 ** 2;
    return { ...DEFAULT_LIMITS, memoryBytesMax, timeoutMs };
  }

  #access(): SandboxedCommand['access'] {
    const { workspaceAccess } = this.#context.confinement;
    const isCopy = this.#options.workspacesShared === false;
    return this.#args.background && isCopy && workspaceAccess === 'rw' ? 'ro' : workspaceAccess;
  }

  /**
   * The workspace and the working folder. On the host read-only access cannot be enforced, so it is
   * refused.
   */
  async #folder(): Promise<Pick<SandboxedCommand, 'workspace' | 'cwd'>> {
    const { sandboxed, workspaceAccess } = this.#context.confinement;
    if (!sandboxed && workspaceAccess !== 'rw') {
      throw new PathRefused(
        `This session's access to the workspace is ${workspaceAccess}, which nothing enforces on ` +
          'the host: commands are refused.',
      );
    }
    if (workspaceAccess === 'none') return {};
    const { path: workspace } = await this.#context.workspace();
    const cwd = await workspacePath(workspace, this.#args.cwd ?? '.');
    if (await isFolder(cwd.path)) return { workspace, cwd: cwd.shown || '.' };
    throw new PathRefused(`There is no folder ${cwd.shown} in the workspace.`);
  }

  async #inForeground(started: StartedCommand): Promise<ToolResult> {
    const { signal } = this.#context;
    const stop = () => this.#stop.abort();
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    started.running.stdin.end();
    try {
      const end = await this.#endOrYield(started);
      if (!end) return this.#toBackground(started, 'It still runs and went to the background');
      if (signal.aborted) throw new TroupeError('CANCELLED', 'The command was ended with its run');
      const text = `${shownOutput(started)}[${endInWords(end)}]`;
      return end.code === 0 ? { text } : { text, isError: true };
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** undefined when the command still runs after `yieldMs` */
  async #endOrYield({ done }: StartedCommand) {
    const { yieldMs } = this.#args;
    if (yieldMs === undefined) return done;
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), yieldMs);
    });
    const end = await Promise.race([done, waited]);
    clearTimeout(timer);
    return end;
  }

  #toBackground(started: StartedCommand, what: string): ToolResult {
    const { id } = this.#processes.add(this.#context, started, this.#context.now);
    const readOnly =
      this.#access() === this.#context.confinement.workspaceAccess
        ? ''
        : ' The workspace is read-only to it.';
    return {
      text:
        `${shownOutput(started)}[${what} as ${id}: see the tool process.${readOnly} ` +
        'It ends with this worker.]',
    };
  }
}

/**
 * Uses bash when it is installed, because models write for bash. Foreground commands get no input.
 */
const shell = (background = false): string => {
  const input = background ? '' : ' </dev/null';
  return (
    `if command -v bash >/dev/null 2>&1; then exec bash -c "$1"${input}; fi; ` +
    `exec sh -c "$1"${input}`
  );
};

/** The end of the output, with the number of omitted bytes before it. */
function shownOutput({ output }: StartedCommand): string {
  const { text, from } = output.tail(SHOWN_BYTES_MAX);
  const missing = from > 0 ? `[the first ${from} of ${output.total} bytes are left out]\n` : '';
  const shown = stripVTControlCharacters(text);
  return missing + shown + (shown === '' || shown.endsWith('\n') ? '' : '\n');
}

/** A retry cannot help without a sandbox, so the failure becomes a result for the model. */
const refusedWithoutSandbox = (error: unknown): never => {
  if (error instanceof TroupeError && error.details?.['reason'] === 'no_sandbox') {
    throw new PathRefused(error.message);
  }
  throw error;
};
