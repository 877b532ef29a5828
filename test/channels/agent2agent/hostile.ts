/** Malformed and hostile requests of both bindings, the same ones for each seed. */
import { hostileValues } from '../../hostile-values.ts';

export type HostileRequest = {
  readonly method: string;
  /** below `/a2a/main` */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

const METHODS = [
  'SendMessage',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'GetExtendedAgentCard',
  'message/send',
  'tasks/get',
  'tasks/pushNotificationConfig/set',
  '__proto__',
  'constructor',
  '',
];
const FIELDS = [
  'id',
  'taskId',
  'tenant',
  'message',
  'configuration',
  'metadata',
  'pageToken',
  'pageSize',
  'status',
  'statusTimestampAfter',
  'historyLength',
  'url',
  'authentication',
  '__proto__',
];
const PATHS = [
  ['POST', '/v1/message:send'],
  ['POST', '/v1/message:stream'],
  ['GET', '/v1/tasks?pageSize='],
  ['GET', '/v1/tasks?pageToken='],
  ['GET', '/v1/tasks?status='],
  ['GET', '/v1/tasks/'],
  ['POST', '/v1/tasks/'],
  ['DELETE', '/v1/tasks/a/pushNotificationConfigs/'],
  ['POST', '/v1/tasks/a/pushNotificationConfigs'],
  ['GET', '/v1/extendedAgentCard?'],
] as const;
const VERSIONS = ['1.0', '1.0', '1.0', '1.0', '0.3', '', '9.9', 'x'.repeat(500)];
const TYPES = ['application/json', 'application/json', 'application/a2a+json', 'text/plain', ''];

export function* hostileRequests(count: number, seed: number): Generator<HostileRequest> {
  const { random, one, text, value } = hostileValues(seed, { methods: METHODS, fields: FIELDS });
  const message = () => ({
    messageId: one(['m', '', 'x'.repeat(300)]),
    role: one(['ROLE_USER', 'ROLE_AGENT', 7, null]),
    parts: one<unknown>([[{ text: value() }], [{ data: value() }], [{ raw: 'x' }], [], value()]),
    [one(FIELDS)]: value(),
  });
  for (let n = 0; n < count; n++) {
    const headers = {
      'a2a-version': one(VERSIONS),
      'content-type': one(TYPES),
      ...(random() < 0.1 ? { 'last-event-id': one(['-1', 'x', '9'.repeat(40)]) } : {}),
    };
    if (random() < 0.5) {
      const params = random() < 0.5 ? { message: message() } : value();
      const rpc = {
        jsonrpc: one(['2.0', '2.0', '2.0', '1.0']),
        id: n,
        method: one(METHODS),
        params,
      };
      const json = JSON.stringify(rpc);
      const body = random() < 0.1 ? json.slice(0, Math.floor(random() * json.length)) : json;
      yield { method: 'POST', path: '', headers, body };
    } else {
      const [method, path] = one(PATHS);
      const body = JSON.stringify(random() < 0.5 ? { message: message() } : value());
      const end = path.startsWith('/v1/message') ? '' : encodeURI(text());
      yield { method, path: `${path}${end}`, headers, ...(method === 'POST' ? { body } : {}) };
    }
  }
}
