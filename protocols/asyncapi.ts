/** AsyncAPI 3.0 of the door for programs over NATS. */
import { schemaTable, type Schema } from './documents.ts';
import type { ActionSpec } from './action.ts';
import { parseAction } from './envelope.ts';

export type AsyncApiOptions = {
  /** of troupe */
  readonly version: string;
  /** of the cell */
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
        'A request is answered on its reply subject; without one, refusals and events are told on the domain’s out subject only. The same envelope gets the same answer as over HTTP.',
      license: { name: 'MIT' },
    },
    servers: {
      nats: { host: '127.0.0.1:4222', protocol: 'nats', description: 'The NATS of the cell' },
    },
    channels: {
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
          refusal: ref('#/components/messages/refusal'),
        },
        parameters: parameters(domains),
      },
    },
    operations: {
      receiveEnvelope: {
        action: 'receive',
        channel: ref('#/channels/requests'),
        summary: 'An envelope comes; what is accepted is durable before it is answered',
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
        summary: 'What a task tells; the same event_id when it is told again',
        messages: [
          ref('#/channels/events/messages/taskEvent'),
          ref('#/channels/events/messages/refusal'),
        ],
      },
    },
    components: {
      messages: {
        envelope: message('Envelope', 'Message Envelope v2.2', REQUEST_HEADERS),
        task: message('Task', 'The task as it is', ANSWER_HEADERS),
        refusal: message('Refusal', 'Nothing was accepted', ANSWER_HEADERS),
        taskEvent: message('TaskEvent', 'What became of a task'),
      },
      schemas: schemaTable(BASE),
    },
  };
}

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
  ...(headers ? { headers } : {}),
  payload: ref(BASE + name),
});

const text = (description: string): Schema => ({ type: 'string', description });

const REQUEST_HEADERS: Schema = {
  type: 'object',
  properties: {
    authorization: text('Bearer and a JWT whose aud names this door (RFC 8707)'),
    'x-jws-signature': text('A2A-External: detached JWS over the canonical envelope'),
    traceparent: text('W3C trace context'),
  },
};
const ANSWER_HEADERS: Schema = {
  type: 'object',
  properties: {
    status: text('The HTTP status of the same answer'),
    'x-ratelimit-limit': text('Envelopes a minute'),
    'x-ratelimit-remaining': text('Left at present'),
    'retry-after': text('Seconds'),
  },
};
