/** Malformed and hostile requests of `/mcp` in all eras, the same ones for each seed. */
import { hostileValues } from '../../hostile-values.ts';

export type HostileRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** the session is SESSION where the newest one is meant */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** the client disconnects after that time */
  readonly leavesAfterMs?: number;
};

export const SESSION = 'the newest session';

const CALL = 'tools/call';
const METHODS = [
  CALL,
  CALL,
  CALL,
  CALL,
  'tools/list',
  'server/discover',
  'initialize',
  'ping',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'resources/templates/list',
  'completion/complete',
  'logging/setLevel',
  'subscriptions/listen',
  'tasks/get',
  'tasks/update',
  'tasks/cancel',
  'tasks/result',
  'notifications/cancelled',
  'notifications/initialized',
  'notifications/progress',
  '__proto__',
  'constructor',
  '',
];
const TOOLS = [
  'conformance__echo_payload-v1',
  'conformance__echo_payload-v1',
  'conformance__count_call-v1',
  'sessions_list',
  'constructor',
  '__proto__',
];
const META = [
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/logLevel',
  'io.modelcontextprotocol/related-task',
  'progressToken',
  'traceparent',
  'tracestate',
  'troupe/idempotency-key',
  'troupe/cancel-call',
  '__proto__',
];
const FIELDS = [
  ...META,
  'name',
  'arguments',
  'uri',
  'taskId',
  'task',
  'cursor',
  'requestId',
  'requestState',
  'inputResponses',
  'clientInfo',
  'capabilities',
  'elicitation',
  'extensions',
  'ref',
];
const VERSIONS = ['2025-11-25', '2025-06-18', '2024-11-05', '2027-01-01', '', 'x'.repeat(500)];
const MODERN = '2026-07-28';
const IDS = [1, 'a', '', -1, 0, 0.5, 2 ** 53, null, true, {}, [], undefined];
/** Deep enough to exhaust the stack of code that reads it. */
const DEEP = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;

export function* hostileRequests(count: number, seed: number): Generator<HostileRequest> {
  const { random, one, text, value } = hostileValues(seed, { methods: METHODS, fields: FIELDS });
  const isChosen = (share: number): boolean => random() < share;
  /** The fields, of which some are replaced by others. */
  const bent = (fields: Readonly<Record<string, unknown>>, names: readonly string[]) =>
    isChosen(0.2) ? { ...fields, [one(names)]: value() } : fields;
  const encoded = (name: string): string => `=?base64?${Buffer.from(name).toString('base64')}?=`;
  const printable = (name: string): string => name.replace(/[^ -~]/g, '?').slice(0, 200);
  const meta = () =>
    bent(
      {
        'io.modelcontextprotocol/protocolVersion': isChosen(0.9) ? MODERN : one(VERSIONS),
        'io.modelcontextprotocol/clientCapabilities': one([
          {},
          {},
          {},
          { elicitation: {} },
          { extensions: { 'io.modelcontextprotocol/tasks': {} } },
          value(),
        ]),
      },
      META,
    );
  const params = (method: string, isModern: boolean, tool: string) => ({
    ...(method === CALL
      ? { name: isChosen(0.9) ? tool : value(), arguments: isChosen(0.5) ? { text: 'a' } : value() }
      : {}),
    ...(method === 'initialize'
      ? {
          protocolVersion: one(VERSIONS),
          capabilities: {},
          clientInfo: { name: 'x', version: '1' },
        }
      : {}),
    ...(isModern ? { _meta: meta() } : {}),
  });
  for (let n = 0; n < count; n++) {
    const isModern = isChosen(0.7);
    const method = isModern || isChosen(0.7) ? one(METHODS) : 'initialize';
    const tool = one(TOOLS);
    const rpc = bent(
      {
        jsonrpc: isChosen(0.95) ? '2.0' : '1.0',
        id: isChosen(0.8) ? n : one(IDS),
        method,
        params: isChosen(0.9) ? bent(params(method, isModern, tool), FIELDS) : value(),
      },
      ['id', 'method', 'params', 'jsonrpc', 'result', 'error', '__proto__'],
    );
    const json = JSON.stringify(isChosen(0.05) ? [rpc, rpc] : rpc);
    const cut = isChosen(0.05) ? json.slice(0, Math.floor(random() * json.length)) : json;
    const body = isChosen(0.05) ? cut.replace('"a"', DEEP) : cut;
    const name = isChosen(0.1) ? printable(text()) : isChosen(0.3) ? encoded(tool) : tool;
    yield {
      method: isChosen(0.9) ? 'POST' : one(['GET', 'DELETE']),
      headers: {
        'content-type': isChosen(0.95) ? 'application/json' : one(['text/plain', '']),
        accept: isChosen(0.9) ? 'application/json, text/event-stream' : one(['', 'text/html']),
        ...(isModern ? { 'mcp-protocol-version': isChosen(0.95) ? MODERN : one(VERSIONS) } : {}),
        ...(isModern ? { 'mcp-method': isChosen(0.95) ? method : 'tools/list' } : {}),
        ...(isModern ? { 'mcp-name': name } : {}),
        ...(isModern || method === 'initialize'
          ? {}
          : { 'mcp-session-id': isChosen(0.9) ? SESSION : 'none' }),
        ...(isChosen(0.05) ? { 'last-event-id': one(['-1', 'x', '9'.repeat(40)]) } : {}),
      },
      body,
      ...(isChosen(0.05) ? { leavesAfterMs: Math.floor(random() * 20) } : {}),
    };
  }
}
