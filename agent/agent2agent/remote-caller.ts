/**
 * Calls of A2A agents, for the actor `remote-call`: a message is sent, and a task that the agent
 * makes of it is asked about until it ends or waits for its caller.
 *
 * Invariants:
 *  1. A repeated call has the same `messageId`.
 *  2. A TroupeError of `start` means that the message was not accepted. Of class `once`, a lost
 *     answer is another error, which the actor reports as unknown.
 */
import { type Message, type Part, Role, type Task } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { defined } from '../../protocols/defined.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { plainName } from '../../protocols/plain-text.ts';
import type { RemoteCall, RemoteStep } from '../../protocols/remote-call.ts';
import type { Artifacts } from '../../runtime/index.ts';
import { signalWithin } from '../../protocols/time-limit.ts';
import { idOfCall } from '../tools/sessions/repeatable-ask.ts';
import { fromOutside } from '../tools/web/net/outside.ts';
import type { RemoteAgents } from './directory.ts';
import {
  idText,
  isInterrupted,
  isWorking,
  messageResult,
  type ResultOptions,
  statusText,
  taskResult,
} from './remote-result.ts';

const POLL_MS = { first: 500, growth: 1.5, max: 30_000 };
/** An agent that was answered may show its former question for a moment. */
const SAME_QUESTION_POLLS_MAX = 3;
/** For one request about a task. */
const REQUEST_MS = 30_000;
const ERROR_CHARACTERS_MAX = 1_000;

/** The input of a call named `send`. */
export type SendInput = {
  readonly message?: string;
  readonly data?: unknown;
  readonly taskId?: string;
  readonly contextId?: string;
};

type Handle = {
  readonly taskId: string;
  readonly polls: number;
  /** the question that was there when it was answered */
  readonly answered?: string;
};

type Request = { readonly tenant: string; readonly signal: AbortSignal };

export type RemoteAgentCallerOptions = {
  readonly agents: RemoteAgents;
  readonly bucket: Promise<Pick<Artifacts, 'put'>>;
};

export async function start(
  call: RemoteCall,
  request: Request & { readonly idempotencyKey: string },
  options: RemoteAgentCallerOptions,
): Promise<RemoteStep> {
  const { signal } = request;
  const input = call.input as SendInput;
  const client = await options.agents.client(call.server, signal).catch(notReady);
  try {
    const sent = await client.sendMessage(
      {
        tenant: '',
        message: messageOf(input, request.idempotencyKey),
        configuration: {
          acceptedOutputModes: [],
          taskPushNotificationConfig: undefined,
          historyLength: 1,
          returnImmediately: true,
        },
        metadata: undefined,
      },
      { signal: signalWithin(signal, call.timeoutMs) },
    );
    const about = resultOptions(call, request, options);
    if (!isTask(sent)) return { kind: 'done', result: await messageResult(sent, about) };
    const taskId = idText(sent.id);
    if (taskId === undefined) throw new Error('the agent answered with a task without a usable id');
    const isOld = input.taskId === taskId && isInterrupted(sent.status?.state);
    const handle = { taskId, polls: 0, ...(isOld && defined({ answered: questionIn(sent) })) };
    return await stepOf(sent, handle, about);
  } catch (error) {
    return failed(error, call, options);
  }
}

export async function follow(
  call: RemoteCall,
  handle: unknown,
  request: Request,
  options: RemoteAgentCallerOptions,
): Promise<RemoteStep> {
  const { signal } = request;
  const { taskId, polls, answered } = handle as Handle;
  const client = await options.agents.client(call.server, signal);
  let task: Task;
  try {
    task = await present(taskId, call, { client, signal });
  } catch (error) {
    const { cause } = error as Error;
    if (errorData(cause).code !== 'PAYLOAD_TOO_LARGE') throw error;
    return { kind: 'done', result: failure(call, errorData(cause).message) };
  }
  const isSame = answered === questionIn(task) && polls < SAME_QUESTION_POLLS_MAX;
  const next = { taskId, polls: polls + 1, ...(isSame && defined({ answered })) };
  return stepOf(task, next, resultOptions(call, request, options));
}

export async function cancel(
  call: RemoteCall,
  handle: unknown,
  { signal }: Request,
  { agents }: RemoteAgentCallerOptions,
): Promise<void> {
  const { taskId } = handle as Handle;
  const client = await agents.client(call.server, signal);
  try {
    const within = signalWithin(signal, REQUEST_MS);
    await client.cancelTask({ tenant: '', id: taskId, metadata: undefined }, { signal: within });
  } catch (error) {
    if (!isOneOf(error, ['TASK_NOT_FOUND', 'TASK_NOT_CANCELABLE'])) throw error;
  }
}

/** @throws TroupeError NOT_FOUND when the agent no longer has the task */
async function present(
  id: string,
  call: RemoteCall,
  { client, signal }: { readonly client: Client; readonly signal: AbortSignal },
): Promise<Task> {
  try {
    const within = signalWithin(signal, REQUEST_MS);
    return await client.getTask({ tenant: '', id, historyLength: 1 }, { signal: within });
  } catch (error) {
    if (!isOneOf(error, ['TASK_NOT_FOUND'])) throw error;
    const message = `${call.server} no longer has the task ${id}; what it did is not known`;
    throw new TroupeError('NOT_FOUND', message, { cause: error });
  }
}

async function stepOf(task: Task, handle: Handle, about: ResultOptions): Promise<RemoteStep> {
  if (!isWorking(task) && handle.answered === undefined)
    return { kind: 'done', result: await taskResult(task, about) };
  const pollMs = Math.min(POLL_MS.max, POLL_MS.first * POLL_MS.growth ** handle.polls);
  return { kind: 'running', handle, pollMs, ...defined({ status: statusText(task, about) }) };
}

const resultOptions = (
  { server: name }: RemoteCall,
  { tenant, signal }: Request,
  { agents, bucket }: RemoteAgentCallerOptions,
): ResultOptions => {
  const http = agents.httpOf(name);
  return {
    name,
    files: { tenant, bucket, http, signal },
    masked: (text) => http.masked(text),
  };
};

/** What tells one question of a task from the next. */
const questionIn = ({ status }: Task): string | undefined =>
  isInterrupted(status?.state)
    ? `${status?.timestamp ?? ''} ${status?.message?.messageId ?? ''}`.slice(0, 400)
    : undefined;

/** Without the card nothing is sent: a time-out is one more reason to try again. */
function notReady(error: unknown): never {
  const { code, message } = errorData(error);
  if (code !== 'DEADLINE_EXCEEDED') throw error;
  throw new TroupeError('UNAVAILABLE', message, { cause: error });
}

/** Errors of A2A that refuse a message before anything is done with it. */
const REFUSALS: readonly string[] = [
  'TASK_NOT_FOUND',
  'PUSH_NOTIFICATION_NOT_SUPPORTED',
  'UNSUPPORTED_OPERATION',
  'CONTENT_TYPE_NOT_SUPPORTED',
  'EXTENSION_SUPPORT_REQUIRED',
  'VERSION_NOT_SUPPORTED',
  'INVALID_PARAMS',
];

/**
 * The result for an error by which the agent has refused the message.
 * @throws TroupeError when the message was not accepted, or may be repeated; Error when that is
 *   not known
 */
function failed(
  error: unknown,
  call: RemoteCall,
  { agents }: RemoteAgentCallerOptions,
): RemoteStep {
  if (error instanceof TroupeError) throw error;
  const clean = (text: string) =>
    plainName(agents.httpOf(call.server).masked(text), ERROR_CHARACTERS_MAX);
  if (isRefusal(error)) {
    const text = `The agent refused the message: ${clean((error as Error).message)}`;
    return { kind: 'done', result: failure(call, text) };
  }
  const text = clean(problemOf(error));
  if (call.class === 'once') throw new Error(text, { cause: error });
  throw new TroupeError('UNAVAILABLE', text, { cause: error });
}

/** Also an HTTP status of 4xx; an error of JSON-RPC has no status. */
function isRefusal(error: unknown): boolean {
  const { statusCode } = error as { readonly statusCode?: unknown };
  const isRefused = isOneOf(error, REFUSALS) && !isUntranslated(error);
  return isRefused || (typeof statusCode === 'number' && statusCode < 500);
}

/**
 * Whether the SDK could not translate an answer of 0.3: it then has an error without the transport
 * that other errors name. (Such errors of 0.3 over HTTP+JSON have none either, and count as this.)
 */
const isUntranslated = (error: unknown): boolean =>
  isOneOf(error, ['INVALID_PARAMS', 'INVALID_AGENT_RESPONSE']) && !('transport' in Object(error));

function problemOf(error: unknown): string {
  const { message } = error as Error;
  if (isUntranslated(error)) return `the answer of the agent is malformed: ${message}`;
  // The SDK reads answers without checking them.
  const isUnreadable = [TypeError, RangeError, SyntaxError].some((type) => error instanceof type);
  if (isUnreadable) return 'the answer of the agent is malformed';
  return isOneOf(error) ? `the agent reported an error: ${message}` : message;
}

const failure = ({ server }: RemoteCall, text: string) => ({
  text: fromOutside(`the A2A agent ${server}`, text),
  isError: true,
});

/** Whether it is an error that an agent answered with; `reasons`: one of these. */
const isOneOf = (error: unknown, reasons?: readonly string[]): boolean => {
  const { reason } = (error ?? {}) as { readonly reason?: unknown };
  return typeof reason === 'string' && (reasons === undefined || reasons.includes(reason));
};

const isTask = (sent: Message | Task): sent is Task => !('messageId' in sent);

function messageOf(input: SendInput, idempotencyKey: string): Message {
  const { message, data, taskId = '', contextId = '' } = input;
  const parts: Part[] = [];
  if (message !== undefined) parts.push(partOf({ $case: 'text', value: message }, 'text/plain'));
  if (data !== undefined) parts.push(partOf({ $case: 'data', value: data }, 'application/json'));
  return {
    messageId: idOfCall({ idempotencyKey }),
    taskId,
    contextId,
    role: Role.ROLE_USER,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

const partOf = (content: NonNullable<Part['content']>, mediaType: string): Part => ({
  content,
  mediaType,
  filename: '',
  metadata: undefined,
});
