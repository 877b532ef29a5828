/** `tasks.*`: background work; `send`: outgoing messages. */
import { type Static, Type } from '@sinclair/typebox';
import { Deprecation } from '../action.ts';
import type { EventArea, MethodArea } from './method.ts';
import { closed, Count, NonEmpty, oneOf, Optional, Text, NoEffect, Unsupported } from './shapes.ts';

/** Default and maximum number of tasks per page. */
export const TASKS_PAGE = 100;
export const TASKS_PAGE_MAX = 500;

const TASK_STATUSES = [
  'queued',
  'running',
  'completed',
  'failed',
  'cancelled',
  'timed_out',
] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];
const Status = oneOf(TASK_STATUSES);

/**
 * A subagent (`runtime` subagent), a run of a schedule (cron), or a task of another agent (a2a).
 * Times are epoch milliseconds. `result` and `prompt` are in `tasks.get` only.
 */
export const TaskSummary = Type.Object(
  {
    id: NonEmpty,
    taskId: NonEmpty,
    kind: Optional(Text),
    runtime: oneOf(['subagent', 'cron', 'a2a']),
    status: Status,
    title: Optional(Text),
    agentId: Optional(Text),
    sessionKey: Optional(Text),
    childSessionKey: Optional(Text),
    ownerKey: Optional(Text),
    runId: Optional(Text),
    sourceId: Optional(Text),
    createdAt: Count,
    updatedAt: Count,
    startedAt: Optional(Count),
    endedAt: Optional(Count),
    progressSummary: Optional(Text),
    terminalSummary: Optional(Text),
    error: Optional(Text),
    result: Optional(Text),
    prompt: Optional(Text),
  },
  closed,
);
export type TaskSummary = Static<typeof TaskSummary>;

/** `sortBy` is not in the published schema. */
export const TasksListParams = Type.Object(
  {
    status: Optional(Type.Union([Status, Type.Array(Status)])),
    agentId: Optional(NonEmpty),
    sessionKey: Optional(NonEmpty),
    limit: Optional(Type.Integer({ minimum: 1, maximum: TASKS_PAGE_MAX })),
    cursor: Optional(Text),
    sortBy: Optional(oneOf(['createdAt', 'updatedAt', 'startedAt', 'endedAt'])),
  },
  closed,
);
export type TasksListParams = Static<typeof TasksListParams>;
export const TasksGetParams = Type.Object({ taskId: NonEmpty }, closed);
export type TasksGetParams = Static<typeof TasksGetParams>;
export const TasksCancelParams = Type.Object({ taskId: NonEmpty, reason: Optional(Text) }, closed);
export type TasksCancelParams = Static<typeof TasksCancelParams>;

/** All published parameters. */
export const SendParams = Type.Object(
  {
    to: NonEmpty,
    message: Optional(Text),
    mediaUrl: Unsupported(Text, 'webchat carries text only'),
    mediaUrls: Unsupported(Type.Array(Text), 'webchat carries text only', [[]]),
    buffer: Unsupported(Text, 'webchat carries text only'),
    filename: Unsupported(Text, 'webchat carries text only'),
    contentType: Unsupported(Text, 'webchat carries text only'),
    asVoice: Unsupported(Type.Boolean(), 'webchat carries text only'),
    gifPlayback: Unsupported(Type.Boolean(), 'webchat carries text only'),
    channel: Unsupported(Text, 'webchat is the only channel', ['webchat', 'last']),
    accountId: Unsupported(Text, 'webchat has one destination, the session'),
    agentId: Optional(Text),
    replyToId: Unsupported(Text, 'webchat has one destination, the session'),
    threadId: Unsupported(Text, 'webchat has one destination, the session'),
    forceDocument: Unsupported(Type.Boolean(), 'webchat carries text only'),
    silent: NoEffect(Type.Boolean(), 'a page makes no sound'),
    parseMode: Unsupported(Type.Literal('HTML'), 'webchat carries text and Markdown'),
    sessionKey: Optional(Text),
    idempotencyKey: NonEmpty,
  },
  closed,
);
export type SendParams = Static<typeof SendParams>;

export const workMethods = {
  'tasks.list': {
    params: TasksListParams,
    result: Type.Object({ tasks: Type.Array(TaskSummary), nextCursor: Optional(Text) }, closed),
    scope: 'operator.read',
  },
  'tasks.get': {
    params: TasksGetParams,
    result: Type.Object({ task: TaskSummary }, closed),
    scope: 'operator.read',
  },
  'tasks.cancel': {
    params: TasksCancelParams,
    result: Type.Object(
      {
        found: Type.Boolean(),
        cancelled: Type.Boolean(),
        reason: Optional(Text),
        task: Optional(TaskSummary),
      },
      closed,
    ),
    scope: 'operator.write',
  },
  send: {
    params: SendParams,
    result: Type.Object(
      {
        runId: NonEmpty,
        messageId: NonEmpty,
        channel: Type.Literal('webchat'),
        to: NonEmpty,
        sessionKey: NonEmpty,
      },
      closed,
    ),
    scope: 'operator.write',
  },
} as const satisfies MethodArea;

/** The current state of a task. */
export const TaskChanged = Type.Object(
  { action: Type.Literal('upserted'), task: TaskSummary },
  closed,
);
export type TaskChanged = Static<typeof TaskChanged>;
/**
 * `action.deprecation` is an extension: a MAJOR version of an action will be removed. A connected
 * client receives each announcement at once and then daily; `GET /v1/events` starts with all
 * announcements in effect.
 */
export const workEvents = {
  task: TaskChanged,
  'action.deprecation': Deprecation,
} as const satisfies EventArea;
