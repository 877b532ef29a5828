/**
 * A task of ours as MCP has it: the result of a tool, a request for input, or a task handle. Pure.
 */
import type { CallToolResult, ElicitRequestFormParams } from '@modelcontextprotocol/server';
import { isFinal, TASK_RETENTION_MS, type TaskView, type Waiting } from '../../protocols/task.ts';
import { jsonOrText } from '../../protocols/task-input.ts';
import type { McpTask } from './catalog.ts';
import { textOf } from './errors.ts';
import { isObject } from '../../protocols/is-object.ts';

/** The one input that a task can wait for at a time; the time makes its key unique. */
export const inputKeyOf = ({ since }: Waiting): string => `input-${Date.parse(since)}`;

/** How long a client should wait before it asks again, in milliseconds. */
const POLL_MS = 1_000;

/** Whether the caller of the task can end the wait; a decision is an operator's. */
export const waitsForCaller = ({ waiting }: TaskView): boolean =>
  waiting !== undefined && waiting.for !== 'decision';

/** The result of a tool whose task has ended. */
export const resultOf = (view: TaskView): CallToolResult => {
  const { task_id, state, result, error, resource_links = [] } = view;
  const links = resource_links.map((link) => ({
    name: String(link['uri']),
    ...link,
    type: 'resource_link' as const,
    uri: String(link['uri']),
  }));
  const about = { 'troupe/task': { task_id, state } };
  if (state === 'SUCCEEDED') {
    const isEmpty = result === undefined || result === null;
    return {
      ...(isObject(result) ? { structuredContent: result } : {}),
      content: [...(isEmpty && links.length > 0 ? [] : [textOf(result ?? null)]), ...links],
      _meta: about,
    };
  }
  const failure = { task_id, state, error: error ?? { code: state, message: messageOf(view) } };
  return { isError: true, content: [textOf(failure), ...links], _meta: about };
};

const messageOf = ({ state, outcome }: TaskView): string =>
  state === 'COMPENSATED'
    ? `its work was undone after it was ${outcome === 'CANCELLED' ? 'cancelled' : 'not completed'}`
    : `the task ended as ${state}`;

/**
 * The task of the extension. A failed action is `completed` with `isError`, as the extension has
 * it: `failed` is for errors of the protocol.
 */
export const mcpTaskOf = (view: TaskView): McpTask => {
  const { task_id, accepted_at, events, waiting } = view;
  const base = {
    taskId: task_id,
    createdAt: accepted_at,
    lastUpdatedAt: view.finished_at ?? waiting?.since ?? events.at(-1)?.at ?? accepted_at,
    ttlMs: null,
    pollIntervalMs: POLL_MS,
  };
  const { state } = view;
  if (!isFinal(state)) {
    if (waiting && waitsForCaller(view)) {
      const inputRequests = { [inputKeyOf(waiting)]: elicitationOf(waiting) };
      return { ...base, status: 'input_required', statusMessage: waiting.prompt, inputRequests };
    }
    const statusMessage = waiting ? `waits for an operator: ${waiting.prompt}` : state;
    return { ...base, status: 'working', statusMessage };
  }
  // A final task is removed at this time.
  const ended = { ...base, ttlMs: ttlOf(view) };
  const wasCancelled = state === 'CANCELLED' || view.outcome === 'CANCELLED';
  if (wasCancelled) return { ...ended, status: 'cancelled', statusMessage: messageOf(view) };
  return { ...ended, status: 'completed', result: { ...resultOf(view), resultType: 'complete' } };
};

const ttlOf = ({ accepted_at, finished_at }: TaskView): number | null =>
  finished_at === undefined
    ? null
    : Date.parse(finished_at) + TASK_RETENTION_MS - Date.parse(accepted_at);

/** Forms of MCP are flat objects: another schema becomes the one field `value`. */
const VALUE = 'value';
const APPROVED = 'approved';

/** The request for input, as a form. */
export const elicitationOf = (
  waiting: Waiting,
): { readonly method: 'elicitation/create'; readonly params: ElicitRequestFormParams } => ({
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: waiting.prompt,
    requestedSchema: formOf(waiting) as ElicitRequestFormParams['requestedSchema'],
  },
});

const formOf = ({ for: kind, schema }: Waiting): object => {
  if (kind === 'approval' && schema === undefined)
    return {
      type: 'object',
      properties: { [APPROVED]: { type: 'boolean' } },
      required: [APPROVED],
    };
  if (isForm(schema)) return { ...pick(schema), type: 'object' };
  const isPlain = schema !== undefined && PLAIN.has(String(schema['type']));
  const value = isPlain ? schema : { type: 'string', description: 'JSON, or a text' };
  return { type: 'object', properties: { [VALUE]: value }, required: [VALUE] };
};

const PLAIN = new Set(['string', 'number', 'integer', 'boolean']);
const isForm = (schema: Waiting['schema']): schema is { properties: Record<string, object> } =>
  schema !== undefined &&
  schema['type'] === 'object' &&
  isObject(schema['properties']) &&
  Object.values(schema['properties']).every(
    (one) => isObject(one) && PLAIN.has(String(one['type'])),
  );
const pick = (schema: Record<string, unknown>): object => ({
  properties: schema['properties'],
  ...(Array.isArray(schema['required']) ? { required: schema['required'] } : {}),
});

/** The input of a task from the content of an accepted form. */
export const inputOf = (
  { for: kind, schema }: Waiting,
  content: Readonly<Record<string, unknown>>,
): unknown => {
  if (kind === 'approval' && schema === undefined) return content[APPROVED];
  if (isForm(schema)) return content;
  const value = content[VALUE];
  if (schema !== undefined && PLAIN.has(String(schema['type']))) return value;
  return typeof value === 'string' ? jsonOrText(value) : value;
};
