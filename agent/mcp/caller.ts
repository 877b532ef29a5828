/**
 * Calls tools of MCP servers for the actor `remote-call`, and follows their tasks
 * (`io.modelcontextprotocol/tasks`).
 *
 * An error says what the actor may do: a TroupeError, that the call was not made or was refused;
 * another one, that the outcome is not known.
 */
import { randomBytes } from 'node:crypto';
import type { CallToolResult, Client, Tool } from '@modelcontextprotocol/client';
import { TroupeError } from '../../protocols/errors.ts';
import type { ListedTool } from '../../protocols/mcp-server.ts';
import { IDEMPOTENCY_KEY } from '../../protocols/mcp.ts';
import { plainName } from '../../protocols/plain-text.ts';
import type { RemoteCall, RemoteCaller, RemoteStep } from '../../protocols/remote-call.ts';
import { formatTraceparent } from '../../protocols/trace.ts';
import type { SecretMask } from '../tools/secret-mask.ts';
import { callResult, type CallResult, foreignResult } from './call-result.ts';
import { CREATED_TASK } from './inbound.ts';
import { isObject } from '../../protocols/is-object.ts';
import { lostOr } from './call-failure.ts';
import { outputFault } from './output-fault.ts';
import type { McpServer } from './server.ts';

/** For a request about a task, milliseconds. */
const REQUEST_MS = 30_000;
const POLL_MS_DEFAULT = 1_000;
const TASK_ID_CHARACTERS_MAX = 4_096;
const TEXT_CHARACTERS_MAX = 2_000;

export type CallerOptions = {
  /** the server of a tenant @throws TroupeError NOT_FOUND */
  readonly serverOf: (tenant: string, name: string) => McpServer;
  /** a tool as the stored list has it; undefined: the list has changed */
  readonly toolOf: (server: string, name: string) => ListedTool | undefined;
  readonly secrets: SecretMask;
};

export function createMcpCaller({ serverOf, toolOf, secrets }: CallerOptions): RemoteCaller {
  const masked = (step: RemoteStep): RemoteStep =>
    step.kind === 'done'
      ? { ...step, result: { ...step.result, text: secrets.text(step.result.text) } }
      : step;
  return {
    async start(call, { tenant, idempotencyKey, signal, traceId }) {
      const server = serverOf(tenant, call.server);
      const step = await server.use(async (client, declined) => {
        try {
          const _meta = { [IDEMPOTENCY_KEY]: idempotencyKey, ...traceOf(traceId) };
          const tool = toolOf(call.server, call.name);
          const result = await client.callTool(
            { name: call.name, arguments: { ...call.input }, _meta },
            { signal, timeout: call.timeoutMs, ...headersFrom(tool) },
          );
          return (
            taskOf(result) ??
            done((await outputFault(result, tool)) ?? callResult(result, declined))
          );
        } catch (error) {
          if (signal.aborted) throw error;
          return done(await lostOr(error, { call, client, server }));
        }
      });
      return masked(step);
    },
    async follow(call, handle, { tenant, signal }) {
      const server = serverOf(tenant, call.server);
      const taskId = taskIdOf(handle);
      const step = await server.use(async (client) => {
        try {
          const tool = toolOf(call.server, call.name);
          return await followed(client, taskId, { call, tool, signal });
        } catch (error) {
          throw await followFailure(error, { call, client, server });
        }
      });
      return masked(step);
    },
    async cancel(call, handle, { tenant, signal }) {
      const taskId = taskIdOf(handle);
      await serverOf(tenant, call.server).use((client) =>
        requestOf(client, 'tasks/cancel', taskId, signal),
      );
    },
  };
}

type Followed = {
  readonly call: RemoteCall;
  readonly tool: ListedTool | undefined;
  readonly signal: AbortSignal;
};

/** W3C trace context, as the specification of MCP has it in `_meta` (SEP-414). */
const traceOf = (traceId: string | undefined): { readonly traceparent?: string } =>
  traceId === undefined
    ? {}
    : {
        traceparent: formatTraceparent({
          traceId,
          spanId: randomBytes(8).toString('hex'),
          sampled: true,
        }),
      };

/** The client of the SDK makes the headers `Mcp-Param-*` of arguments from the tool's schema. */
const headersFrom = (tool: ListedTool | undefined) =>
  tool && {
    toolDefinition: {
      name: tool.serverName,
      // sound: the schema of a listed tool is that of an object
      inputSchema: tool.inputSchema as Tool['inputSchema'],
    },
  };

/** A task that waits for input is cancelled. */
async function followed(
  client: Client,
  taskId: string,
  { call, tool, signal }: Followed,
): Promise<RemoteStep> {
  const task = await requestOf(client, 'tasks/get', taskId, signal);
  const result = isObject(task) && task['status'] === 'completed' ? task['result'] : undefined;
  const fault = isObject(result) ? await outputFault(result, tool) : undefined;
  const step = fault ? done(fault) : stepOf(taskId, task);
  if (step !== undefined) return step;
  await requestOf(client, 'tasks/cancel', taskId, signal);
  return done({ text: inputText(call, task), isError: true });
}

const requestOf = (
  client: Client,
  method: 'tasks/get' | 'tasks/cancel',
  taskId: string,
  signal: AbortSignal,
): Promise<unknown> =>
  client.request({ method, params: { taskId } }, anything, { signal, timeout: REQUEST_MS });

const done = (result: CallResult): RemoteStep => ({ kind: 'done', result });

/** A schema of the standard that accepts every value: answers about tasks are read here. */
const anything = {
  '~standard': { version: 1, vendor: 'troupe', validate: (value: unknown) => ({ value }) },
} as const;

/** The task that the server created instead of a result. */
function taskOf({ _meta: meta }: CallToolResult): RemoteStep | undefined {
  const task = meta?.[CREATED_TASK];
  if (!isObject(task)) return undefined;
  const { taskId } = task;
  if (typeof taskId !== 'string' || taskId.length > TASK_ID_CHARACTERS_MAX)
    return done({ text: 'The server created a task without a valid id.', isError: true });
  // A task that has ended already is asked about once, because this answer has no result.
  return running(taskId, task);
}

function running(taskId: string, task: Readonly<Record<string, unknown>>): RemoteStep {
  const { pollIntervalMs, pollInterval, statusMessage } = task;
  const pollMs = pollIntervalMs ?? pollInterval;
  return {
    kind: 'running',
    handle: { taskId },
    pollMs: typeof pollMs === 'number' && pollMs > 0 ? pollMs : POLL_MS_DEFAULT,
    ...(typeof statusMessage === 'string' && { status: plainName(statusMessage, 200) }),
  };
}

/** @throws TroupeError NOT_FOUND */
function taskIdOf(handle: unknown): string {
  if (isObject(handle) && typeof handle['taskId'] === 'string') return handle['taskId'];
  throw new TroupeError('NOT_FOUND', 'the task has no id');
}

/** undefined: it waits for input. */
function stepOf(taskId: string, task: unknown): RemoteStep | undefined {
  if (!isObject(task)) return done(foreignResult(task));
  switch (task['status']) {
    case 'working':
      return running(taskId, task);
    case 'completed':
      return done(foreignResult(task['result']));
    case 'input_required':
      return undefined;
    case 'cancelled':
      return done({ text: `The server cancelled the call. ${said(task)}`, isError: true });
    default:
      return done({ text: `The call failed. ${said(task)}`, isError: true });
  }
}

const said = ({ error, statusMessage }: Readonly<Record<string, unknown>>): string => {
  const text = isObject(error) ? error['message'] : statusMessage;
  return typeof text === 'string' ? plainName(text, TEXT_CHARACTERS_MAX) : '';
};

function inputText({ server, name }: RemoteCall, task: unknown): string {
  const requests = isObject(task) && isObject(task['inputRequests']) ? task['inputRequests'] : {};
  const questions = Object.values(requests).map((request) => {
    const params = isObject(request) && isObject(request['params']) ? request['params'] : {};
    return typeof params['message'] === 'string' ? params['message'] : JSON.stringify(request);
  });
  return (
    `${name} of ${server} asked for input, which no person gives here, so it was cancelled. It asked: ` +
    plainName(questions.join('; '), TEXT_CHARACTERS_MAX)
  );
}

type Failed = Parameters<typeof lostOr>[1];

/** A server that no longer has the task, or that could not be asked. */
async function followFailure(error: unknown, failed: Failed): Promise<unknown> {
  const { ProtocolError } = await import('@modelcontextprotocol/client');
  if (error instanceof ProtocolError)
    return new TroupeError(
      'NOT_FOUND',
      `the server no longer has the task: ${failed.server.messageOf(error)}`,
    );
  const call: RemoteCall = { ...failed.call, class: 'repeatable' };
  return lostOr(error, { ...failed, call }).then(
    ({ text }) => new TroupeError('UNAVAILABLE', text),
    (thrown: unknown) => thrown,
  );
}
