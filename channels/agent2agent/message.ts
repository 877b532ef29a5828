/**
 * What a message of a client asks for: an action and its payload, or the input of a task. Pure.
 *
 * A message calls an action by its one data part `{ action, action_version?, payload }`, or by
 * `metadata` with `action` (and `action_version`), with the payload as the data part. A text is for
 * a chat agent.
 */
import { createHash } from 'node:crypto';
import { type Message, type Part, Role } from '@a2a-js/sdk';
import { ContentTypeNotSupportedError } from '@a2a-js/sdk/errors';
import { type ActionSpec, serves } from '../../protocols/action.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Payload } from '../../protocols/envelope.ts';
import { newestSchema } from '../../protocols/models/function-call.ts';
import type { Waiting } from '../../protocols/task.ts';
import { jsonOrText } from '../../protocols/task-input.ts';
import type { ServedAgent } from './agents.ts';
import { isObject } from '../../protocols/is-object.ts';

/** Same as that of an idempotency key and of a context in an envelope. */
const ID_CHARACTERS_MAX = 256;
const PARTS_MAX = 100;

export type ActionCall = { readonly spec: ActionSpec; readonly payload: Payload };

/** Checks what the SDK does not. @throws TroupeError INVALID_ARGUMENT */
export function checkedMessage(message: Message | undefined): Message {
  if (!message) throw invalid('the request has no message');
  const { messageId, contextId, taskId, parts, role } = message;
  if (messageId === '') throw invalid('message.messageId is required');
  // The SDK does not check messages of 0.3.
  for (const [name, id] of Object.entries({ messageId, contextId, taskId }))
    if (typeof id !== 'string') throw invalid(`message.${name} must be a text`);
    else if (id.length > ID_CHARACTERS_MAX)
      throw invalid(`message.${name} must have at most ${ID_CHARACTERS_MAX} characters`);
  if (role !== Role.ROLE_USER) throw invalid('message.role must be ROLE_USER');
  if (parts.length === 0) throw invalid('message.parts must have at least one part');
  if (parts.length > PARTS_MAX) throw invalid(`message.parts must have at most ${PARTS_MAX} parts`);
  if (parts.some(({ content }) => content === undefined))
    throw invalid('each part of message.parts must be one of text, raw, url and data');
  return message;
}

/** @throws TroupeError INVALID_ARGUMENT; ContentTypeNotSupportedError for a file */
export function callOf(message: Message, agent: ServedAgent): ActionCall {
  assertReadable(message.parts);
  const data = message.parts.flatMap(({ content }) =>
    content?.$case === 'data' ? [content.value as unknown] : [],
  );
  const named = isObject(message.metadata) ? message.metadata : {};
  if (data.length > 1) throw invalid('a message has at most one data part');
  if (typeof named['action'] === 'string') return actionCall(agent, named, data[0] ?? {});
  if (data.length === 1) {
    const [call] = data;
    if (isObject(call) && typeof call['action'] === 'string')
      return actionCall(agent, call, call['payload'] ?? {});
    throw invalid(`the data part must be { action, payload }: ${actionsOf(agent)}`);
  }
  if (agent.chat) return chatCall(agent.id, agent.chat, textOf(message.parts));
  throw invalid(`${agent.id} accepts a data part { action, payload }: ${actionsOf(agent)}`);
}

function actionCall(
  agent: ServedAgent,
  named: Readonly<Record<string, unknown>>,
  payload: unknown,
): ActionCall {
  const action = String(named['action']).slice(0, 128);
  const version = named['action_version'];
  if (version !== undefined && typeof version !== 'string')
    throw invalid('action_version must be a text');
  const spec = agent.actions.findLast(
    (one) =>
      one.action === action && (version === undefined || serves(one.action_version, version)),
  );
  if (!spec) {
    const of = version === undefined ? '' : ` ${version.slice(0, 32)}`;
    throw invalid(`${action}${of} is not offered: ${actionsOf(agent)}`);
  }
  if (!isObject(payload)) throw invalid('the payload must be an object');
  return { spec, payload: { schema_version: newestSchema(spec), ...payload } };
}

const chatCall = (agentId: string, spec: ActionSpec, message: string): ActionCall => ({
  spec,
  payload: { schema_version: newestSchema(spec), agent_id: agentId, message },
});

const actionsOf = ({ actions }: ServedAgent): string => {
  const names = [...new Set(actions.map(({ action }) => action))];
  if (names.length === 0) return 'it offers you no action';
  return `its actions are ${names.slice(0, 20).join(', ')}; sensitive ones need a sealed envelope`;
};

const textOf = (parts: readonly Part[]): string =>
  parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])).join('\n');

/** @throws ContentTypeNotSupportedError */
function assertReadable(parts: readonly Part[]): void {
  const isFile = parts.some(({ content }) => content?.$case === 'raw' || content?.$case === 'url');
  if (isFile)
    throw new ContentTypeNotSupportedError(
      'files are sent as artifacts (POST /v1/artifacts), whose artifact_uri the payload names',
    );
}

/**
 * The input of a waiting task: the data part, or the text, as JSON where the task waits for
 * something else than a text.
 */
export function inputOf(message: Message, waiting: Waiting | undefined): unknown {
  const [text, json] = readingsOf(message);
  const { for: kind, schema } = waiting ?? {};
  const isText = schema === undefined ? kind !== 'approval' : schema['type'] === 'string';
  return isText ? text : json;
}

/** What the message may be an input as: for a task that waits for a text, and for another one. */
export function readingsOf({ parts }: Message): readonly [unknown, unknown] {
  assertReadable(parts);
  const data = parts.find(({ content }) => content?.$case === 'data')?.content;
  if (data?.$case === 'data') return [data.value, data.value];
  const text = textOf(parts);
  return [text, jsonOrText(text)];
}

/** A message without a context begins one, which a repeat of it finds again. */
export const ownContextOf = (sub: string, { messageId }: Message): string =>
  `a2a-${createHash('sha256')
    .update(JSON.stringify([sub, messageId]))
    .digest('base64url')}`;

const invalid = (message: string): TroupeError => new TroupeError('INVALID_ARGUMENT', message);
