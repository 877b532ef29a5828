/** AsyncAPI 3.0 document of the entry point for programs over NATS. */
import { schemaTable, type Schema } from './documents.ts';
import type { ActionSpec } from '../action.ts';
import { defined } from '../defined.ts';
import { parseAction } from '../envelope.ts';

export type AsyncApiOptions = {
  /** version of troupe */
  readonly version: string;
  /** environment of the cell */
  readonly env: string;
  readonly specs: readonly ActionSpec[];
};

const BASE = '#/components/schemas/';
const ref = (path: string): Schema => ({ $ref: path });

export function asyncApi({ version, env, specs }: AsyncApiOptions): Schema {
  const domains = [...new Set(specs.map(({ action }) => parseAction(action).domain))].toSorted();
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'troupe: envelopes and task events',
      version,
      description:
        'The server replies on the reply subject of a request. Without a reply subject, it publishes refusals and events on the domain’s out subject only. The result is the same as over HTTP.',
      license: { name: 'MIT' },
    },
    servers: {
      nats: { host: '127.0.0.1:4222', protocol: 'nats', description: 'The NATS of the cell' },
    },
    channels: channelsOf(env, domains),
    operations: OPERATIONS,
    components: {
      messages: {
        envelope: message('Envelope', 'Message Envelope v2.2', REQUEST_HEADERS),
        task: message('Task', 'The current state of the task', ANSWER_HEADERS),
        refusal: message('Refusal', 'The request was refused', ANSWER_HEADERS),
        taskEvent: message('TaskEvent', 'A state change of a task', EVENT_HEADERS),
        refusedEvent: message('RefusedEvent', 'An envelope without a reply subject was refused'),
      },
      schemas: schemaTable(BASE),
    },
  };
}

const channelsOf = (env: string, domains: readonly string[]): Schema => ({
  requests: {
    address: `a2a.{domain}.${env}.in.{tenant}`,
    messages: { envelope: ref('#/components/messages/envelope') },
    parameters: parameters(domains),
  },
  answers: {
    address: null,
    description: 'The reply subject of a request',
    messages: {
      task: ref('#/components/messages/task'),
      refusal: ref('#/components/messages/refusal'),
    },
  },
  events: {
    address: `a2a.{domain}.${env}.out.{tenant}`,
    messages: {
      taskEvent: ref('#/components/messages/taskEvent'),
      refusedEvent: ref('#/components/messages/refusedEvent'),
    },
    parameters: parameters(domains),
  },
});

const OPERATIONS: Schema = {
  receiveEnvelope: {
    action: 'receive',
    channel: ref('#/channels/requests'),
    summary: 'Receive an envelope. An accepted envelope is stored before the reply is sent.',
    messages: [ref('#/channels/requests/messages/envelope')],
    reply: {
      channel: ref('#/channels/answers'),
      messages: [
        ref('#/channels/answers/messages/task'),
        ref('#/channels/answers/messages/refusal'),
      ],
    },
  },
  tellEvent: {
    action: 'send',
    channel: ref('#/channels/events'),
    summary: 'Publish an event of a task. A repeated event has the same event_id.',
    messages: [
      ref('#/channels/events/messages/taskEvent'),
      ref('#/channels/events/messages/refusedEvent'),
    ],
  },
};

const parameters = (domains: readonly string[]): Schema => ({
  domain: {
    description: 'Domain of the action',
    ...(domains.length > 0 ? { enum: domains } : {}),
  },
  tenant: { description: 'Tenant of the envelope' },
});

const message = (name: string, summary: string, headers?: Schema): Schema => ({
  name,
  title: name,
  summary,
  contentType: 'application/json',
  ...defined({ headers }),
  payload: ref(BASE + name),
});

const text = (description: string): Schema => ({ type: 'string', description });

const REQUEST_HEADERS: Schema = {
  type: 'object',
  properties: {
    authorization: text('Bearer and a JWT whose aud names this server (RFC 8707)'),
    'x-jws-signature': text('A2A-External: detached JWS over the canonical envelope'),
    traceparent: text('W3C trace context'),
    tracestate: text('W3C trace context'),
    prefer: text('respond-async: reply before the work is done'),
  },
};
const EVENT_HEADERS: Schema = {
  type: 'object',
  properties: {
    'Nats-Msg-Id': text('event_id: a JetStream stream over the subject drops duplicates by it'),
  },
};
const ANSWER_HEADERS: Schema = {
  type: 'object',
  properties: {
    status: text('The HTTP status of the equivalent response'),
    'x-ratelimit-limit': text('Envelopes per minute'),
    'x-ratelimit-remaining': text('Envelopes that may be sent now'),
    'retry-after': text('Seconds'),
  },
};
