/**
 * The HTTP+JSON binding: one table of paths below the URL of the interface, on the same operations.
 * Errors have the body of AIP-193.
 */
import {
  A2A_CONTENT_TYPE,
  AgentCard,
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { TroupeError } from '../../protocols/errors.ts';
import { type RouteRequest, sendJson } from '../http/route.ts';
import { type Refusal, restError } from './errors.ts';
import { callContext, jsonOf, sendStream, type Streamed } from './requests.ts';
import type { RestOperation } from './rest-paths.ts';
import { VERSION } from './cards.ts';

export type RestParts = Pick<Streamed<unknown>, 'streams' | 'who' | 'eventId'> & {
  readonly incoming: RouteRequest;
  readonly handler: A2ARequestHandler;
  /** logs what is a fault of this program */
  readonly refusal: (thrown: unknown) => Refusal;
};

/** @throws A2AError or TroupeError before anything is sent */
type Serve = (parts: RestParts) => Promise<void>;

const HEADERS = { 'content-type': A2A_CONTENT_TYPE };

const send = ({ incoming }: RestParts, body: unknown, status = 200): void =>
  sendJson(incoming.response, status, body, HEADERS);

const bodyOf = async ({ incoming }: RestParts): Promise<Record<string, unknown>> => {
  const json = await jsonOf(incoming);
  if (json && typeof json.value === 'object' && json.value !== null && !Array.isArray(json.value))
    return json.value as Record<string, unknown>;
  throw new TroupeError('INVALID_ARGUMENT', 'the body is not a JSON object in UTF-8');
};

/** What the codec of the SDK cannot read is a fault of the client. */
const read = <T>(codec: { fromJSON(object: unknown): T }, value: unknown): T => {
  try {
    return codec.fromJSON(value);
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', 'the parameters are not valid', { cause });
  }
};

const stream = (parts: RestParts, iterator: AsyncIterator<StreamResponse>): Promise<void> =>
  sendStream(parts.incoming, {
    ...parts,
    iterator,
    encode: (response) => StreamResponse.toJSON(response) as object,
    failure: (thrown) => restError(parts.refusal(thrown)),
  });

const context = () => callContext(VERSION);
const tenantOf = ({ incoming }: RestParts): string => incoming.query.get('tenant') ?? '';
const idOf = ({ incoming }: RestParts): string => incoming.params['id'] ?? '';
const configIdOf = ({ incoming }: RestParts): string => incoming.params['configId'] ?? '';

const sendMessage: Serve = async (parts) => {
  const request = read(SendMessageRequest, await bodyOf(parts));
  const value = (await parts.handler.sendMessage(request, context())) as Task;
  send(parts, SendMessageResponse.toJSON({ payload: { $case: 'task', value } }));
};

const streamMessage: Serve = async (parts) => {
  const request = read(SendMessageRequest, await bodyOf(parts));
  await stream(parts, parts.handler.sendMessageStream(request, context()));
};

const listTasks: Serve = async (parts) => {
  const { includeArtifacts, ...query } = Object.fromEntries(parts.incoming.query);
  const request = read(ListTasksRequest, {
    ...query,
    ...(includeArtifacts === undefined ? {} : { includeArtifacts: includeArtifacts === 'true' }),
  });
  const page = await parts.handler.listTasks(request, context());
  // Required fields that the codec leaves out when they have their default.
  const { pageSize, totalSize, nextPageToken } = page;
  send(parts, {
    tasks: [],
    ...(ListTasksResponse.toJSON(page) as object),
    nextPageToken,
    pageSize,
    totalSize,
  });
};

const getTask: Serve = async (parts) => {
  const historyLength = parts.incoming.query.get('historyLength');
  const request = read(GetTaskRequest, {
    tenant: tenantOf(parts),
    id: idOf(parts),
    ...(historyLength === null ? {} : { historyLength }),
  });
  send(parts, Task.toJSON(await parts.handler.getTask(request, context())));
};

const cancelTask: Serve = async (parts) => {
  const request = read(CancelTaskRequest, { tenant: tenantOf(parts), id: idOf(parts) });
  send(parts, Task.toJSON(await parts.handler.cancelTask(request, context())));
};

const subscribe: Serve = (parts) => {
  const request = { tenant: tenantOf(parts), id: idOf(parts) };
  return stream(parts, parts.handler.resubscribe(request, context()));
};

const extendedCard: Serve = async (parts) => {
  const request = { tenant: tenantOf(parts) };
  const card = await parts.handler.getAuthenticatedExtendedAgentCard(request, context());
  send(parts, AgentCard.toJSON(card));
};

const createConfig: Serve = async (parts) => {
  const config = read(TaskPushNotificationConfig, {
    ...(await bodyOf(parts)),
    taskId: idOf(parts),
  });
  const created = await parts.handler.createTaskPushNotificationConfig(config, context());
  send(parts, TaskPushNotificationConfig.toJSON(created), 201);
};

const listConfigs: Serve = async (parts) => {
  const { query } = parts.incoming;
  const listed = await parts.handler.listTaskPushNotificationConfigs(
    {
      tenant: tenantOf(parts),
      taskId: idOf(parts),
      pageSize: Number(query.get('pageSize') ?? 0),
      pageToken: query.get('pageToken') ?? '',
    },
    context(),
  );
  send(parts, ListTaskPushNotificationConfigsResponse.toJSON(listed));
};

const getConfig: Serve = async (parts) => {
  const request = { tenant: tenantOf(parts), taskId: idOf(parts), id: configIdOf(parts) };
  const config = await parts.handler.getTaskPushNotificationConfig(request, context());
  send(parts, TaskPushNotificationConfig.toJSON(config));
};

const deleteConfig: Serve = async (parts) => {
  const request = { tenant: tenantOf(parts), taskId: idOf(parts), id: configIdOf(parts) };
  await parts.handler.deleteTaskPushNotificationConfig(request, context());
  parts.incoming.response.writeHead(204).end();
};

export const REST_OPERATIONS: Readonly<Record<RestOperation, Serve>> = {
  sendMessage,
  streamMessage,
  listTasks,
  cancelTask,
  subscribe,
  subscribeByGet: subscribe,
  getTask,
  createConfig,
  listConfigs,
  getConfig,
  deleteConfig,
  extendedCard,
};

export const sendRestError = (
  { response }: RouteRequest,
  refusal: Refusal,
  headers: Readonly<Record<string, string>>,
): void => sendJson(response, refusal.http, restError(refusal), { ...HEADERS, ...headers });
