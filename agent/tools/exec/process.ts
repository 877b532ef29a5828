/** `process`: background commands of this session on this worker. */
import { type Static, Type } from '@sinclair/typebox';
import { stripVTControlCharacters } from 'node:util';
import { TroupeError } from '../../../protocols/errors.ts';
import { type BackgroundProcess, endInWords, type Processes } from './processes.ts';
import {
  defineTool,
  type Tool,
  type ToolContext,
  type ToolQuestion,
  type ToolResult,
} from '../tool.ts';

const POLL_BYTES = 4_096;
const LOG_BYTES = 32 * 1024;
const WAIT_SECONDS = 30;
const WAIT_SECONDS_MAX = 600;

const Parameters = Type.Object(
  {
    action: Type.Union(
      ['list', 'poll', 'log', 'wait', 'write', 'kill'].map((name) => Type.Literal(name)),
      {
        description:
          'list: all of them; poll: state and last output; log: output from offset; ' +
          'wait: until it ends; write: to its input; kill: end it',
      },
    ),
    id: Type.Optional(
      Type.String({ maxLength: 64, description: 'id that exec returned; not for list' }),
    ),
    offset: Type.Optional(
      Type.Integer({ minimum: 0, description: 'log: first byte of output; default 0' }),
    ),
    timeoutSec: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: WAIT_SECONDS_MAX,
        description: 'wait: at most; default 30',
      }),
    ),
    input: Type.Optional(Type.String({ maxLength: 65_536, description: 'write: the text' })),
    end: Type.Optional(Type.Boolean({ description: 'write: its input ends after this' })),
  },
  { additionalProperties: false },
);
type Arguments = Static<typeof Parameters>;

export const createProcessTool = (processes: Processes): Tool =>
  defineTool({
    name: 'process',
    groups: ['runtime'],
    description: 'Lists, reads and controls background commands that exec started in this session.',
    parameters: Parameters,
    class: 'once',
    classOf: ({ action }) => (action === 'write' || action === 'kill' ? 'once' : 'repeatable'),
    parallel: true,
    timeoutMs: (WAIT_SECONDS_MAX + 60) * 1_000,
    question: ({ action, id = '', input = '' }) =>
      action === 'write' && input !== '' ? inputQuestion(id, input) : undefined,
    async run(args, context) {
      if (args.action === 'list') return { text: listOf(processes.of(context), context.now) };
      const process = processes.get(context, args.id ?? '');
      return process ? act(process, args, context) : { text: unknownId(args.id), isError: true };
    },
    close: () => processes.close(),
  });

/**
 * Input to a background shell runs commands, so it needs an approval as well. The brackets prevent
 * any pattern from matching it.
 */
const inputQuestion = (id: string, input: string): ToolQuestion => ({
  command: `(input of ${id}) ${input}`,
  detail: `To the input of the background command ${id}: ${input}`,
});

async function act(
  process: BackgroundProcess,
  args: Arguments,
  context: ToolContext,
): Promise<ToolResult> {
  switch (args.action) {
    case 'log':
      return { text: logOf(process, args.offset ?? 0) };
    case 'wait':
      await endOf(process, (args.timeoutSec ?? WAIT_SECONDS) * 1_000, context.signal);
      return { text: stateOf(process) };
    case 'write':
      return write(process, args);
    case 'kill':
      process.running.kill();
      await process.done;
      return { text: stateOf(process) };
    default:
      return { text: stateOf(process) };
  }
}

const unknownId = (id: string | undefined): string =>
  id === undefined
    ? 'The id is missing: pass the id that exec or list returned.'
    : `This worker knows no process ${JSON.stringify(id)} of this session. Background commands end ` +
      'with the worker that started them. After a restart or a move, start the command again if you need it.';

const listOf = (all: readonly BackgroundProcess[], now: number): string =>
  all.length === 0
    ? 'No background commands of this session on this worker.'
    : all
        .map((process) => {
          const { id, command, startedAt, output } = process;
          const seconds = Math.max(0, Math.round((now - startedAt) / 1_000));
          return `${id}  ${inWords(process)}  begun ${seconds} s ago  ${output.total} bytes  ${firstLine(command)}`;
        })
        .join('\n');

const firstLine = (command: string): string => {
  const line = command.split('\n', 1)[0] ?? '';
  return line.length < command.length || line.length > 120 ? `${line.slice(0, 120)}…` : line;
};

const inWords = ({ ended }: BackgroundProcess): string => (ended ? endInWords(ended) : 'running');

function stateOf(process: BackgroundProcess): string {
  const { text, from, to } = process.output.tail(POLL_BYTES);
  return `[${process.id}: ${inWords(process)}; output ${from} to ${to}]\n${stripVTControlCharacters(text)}`;
}

function logOf({ id, output }: BackgroundProcess, offset: number): string {
  const { text, from, to } = output.from(offset, LOG_BYTES);
  const gone = from > offset ? `; what came before ${from} is not kept` : '';
  const more = to < output.total ? `; more with offset ${to}` : '';
  return `[${id}: output ${from} to ${to} of ${output.total}${gone}${more}]\n${stripVTControlCharacters(text)}`;
}

async function write(process: BackgroundProcess, args: Arguments): Promise<ToolResult> {
  const { stdin } = process.running;
  const { input = '', end = false } = args;
  if (process.ended || !stdin.writable) {
    return { text: `${process.id} takes no input: ${inWords(process)}`, isError: true };
  }
  const fault = await new Promise<Error | null | undefined>((resolve) => {
    stdin.write(input, resolve);
  });
  if (fault) return { text: `${process.id} took no input: ${fault.message}`, isError: true };
  if (end) stdin.end();
  const closed = end ? ', and its input ended' : '';
  return { text: `${Buffer.byteLength(input)} bytes went to ${process.id}${closed}.` };
}

/** Waits at most `forMs` for its end. @throws TroupeError CANCELLED */
async function endOf({ done }: BackgroundProcess, forMs: number, signal: AbortSignal) {
  let stop = () => {};
  const waited = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, forMs);
    stop = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  await Promise.race([done, waited]);
  stop();
  signal.removeEventListener('abort', stop);
  if (signal.aborted) throw new TroupeError('CANCELLED', 'The wait was given up with its run');
}
