/** Steps of a tool call: its arguments, its output while it runs, and its result. */
import { longArguments, shortArguments } from './short-arguments.ts';

export type ToolStep = {
  readonly callId: string;
  readonly name: string;
  /** `notRun`: it was denied, or skipped because a new message arrived */
  readonly state: 'running' | 'asking' | 'done' | 'failed' | 'notRun';
  /** the start of its arguments */
  readonly about?: string;
  /** all arguments, as JSON */
  readonly args?: string;
  /** its output so far, only the end if it is long */
  readonly progress?: string;
  readonly result?: string;
  /** epoch milliseconds, by the gateway's clock */
  readonly startedAt?: number;
  readonly endedAt?: number;
};

/** The fields of the event `agent` that the page uses. */
export type AgentEvent = {
  readonly runId: string;
  readonly stream: string;
  readonly ts?: number;
  readonly sessionKey?: string;
  readonly data: {
    readonly phase?: string;
    readonly sessionKey?: string;
    readonly toolCallId?: string;
    readonly name?: string;
    readonly isError?: boolean;
    readonly args?: unknown;
    readonly partialResult?: unknown;
    readonly result?: unknown;
    readonly parentSessionKey?: string;
  };
};

const PROGRESS_CHARACTERS_MAX = 20_000;

export const stepAfter = (step: ToolStep, { ts, data }: AgentEvent): ToolStep => {
  switch (data.phase) {
    case 'start': {
      const args = { about: shortArguments(data.args), args: longArguments(data.args) };
      return { ...step, ...args, ...(ts === undefined ? {} : { startedAt: ts }) };
    }
    case 'update': {
      const progress = (step.progress ?? '') + textOf(data.partialResult);
      return { ...step, state: 'running', progress: progress.slice(-PROGRESS_CHARACTERS_MAX) };
    }
    case 'approval':
      return { ...step, state: 'asking' };
    case 'result': {
      const result = data.result === undefined ? {} : { result: textOf(data.result) };
      const state = endOf(data.isError ?? false, result.result ?? '');
      return { ...step, ...result, state, ...(ts === undefined ? {} : { endedAt: ts }) };
    }
    default:
      return step;
  }
};

/** A tool's output: text unchanged, anything else as JSON. */
const textOf = (said: unknown): string =>
  typeof said === 'string' ? said : said === undefined ? '' : JSON.stringify(said, null, 2);

/** How a result begins that says why a call was not run (agent/policy, actors/session/run). */
const NOT_RUN = /^(Not run|Skipped): /;

export const endOf = (isError: boolean, result: string): 'done' | 'failed' | 'notRun' =>
  isError ? (NOT_RUN.test(result) ? 'notRun' : 'failed') : 'done';

type Said = {
  readonly timestamp?: number;
  readonly content:
    | string
    | readonly { readonly type: string; readonly id?: string; readonly arguments?: unknown }[];
};

/** A call as the model made it: the result does not contain this. */
export type Call = { readonly about: string; readonly args: string; readonly startedAt?: number };

export const callsOf = ({ content, timestamp }: Said): readonly (readonly [string, Call])[] =>
  typeof content === 'string'
    ? []
    : content.flatMap(({ type, id, arguments: args }) =>
        type === 'toolCall' && id !== undefined ? [[id, callOf(args, timestamp)] as const] : [],
      );

const callOf = (args: unknown, startedAt: number | undefined): Call => ({
  about: shortArguments(args),
  args: longArguments(args),
  ...(startedAt === undefined ? {} : { startedAt }),
});
