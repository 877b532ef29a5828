/**
 * Plain calls of tools without a server of the SDK. The SDK makes a server, a transport and a web
 * response for each request, which is a sixth of the processor time of a durable call.
 *
 * Boundary: a plain call is a `tools/call` of revision 2026-07-28 that is valid, asks for no
 * progress and continues no earlier call. The SDK serves all others, and answers what is wrong with
 * them. Both answer the same to the same call, except for an empty `content` that the SDK adds to a
 * task.
 */
import type { IncomingMessage } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  classifyInboundRequest,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  ProtocolErrorCode,
  RELATED_TASK_META_KEY,
  type RequestMeta,
  SERVER_INFO_META_KEY,
} from '@modelcontextprotocol/server';
import { LruMap } from '../../runtime/index.ts';
import { header } from '../http/route.ts';
import type { CallContext, McpTool } from './catalog.ts';
import { answerOf, featuresIn, type ServerInfo } from './server.ts';
import { isObject } from '../../protocols/is-object.ts';

/** The one revision without sessions. */
const REVISION = '2026-07-28';
const CALL = 'tools/call';
/** A call with other parameters is not plain. */
const PARAMS = new Set(['name', 'arguments', '_meta']);

type Body = Readonly<Record<string, unknown>>;

export type DirectCall = {
  readonly id: unknown;
  readonly name: string;
  readonly args: Body;
  readonly meta: RequestMeta & Body;
};

/** The plain call in a request; undefined: it is none. */
export function directCallIn(request: IncomingMessage, body: unknown): DirectCall | undefined {
  if (!isObject(body) || body['method'] !== CALL || !isObject(body['params'])) return undefined;
  const { name, arguments: args = {}, _meta: meta } = body['params'];
  const isPlain =
    typeof name === 'string' &&
    isObject(args) &&
    isObject(meta) &&
    meta['progressToken'] === undefined &&
    Object.keys(body['params']).every((key) => PARAMS.has(key)) &&
    // The SDK reads an encoded name, and refuses other differences.
    header(request, 'mcp-name') === name;
  return isPlain && isOfRevision(request, body, meta)
    ? { id: body['id'], name, args, meta }
    : undefined;
}

/** Whether the message, what it declares, and its headers are valid, and of the one revision. */
function isOfRevision(request: IncomingMessage, body: Body, meta: Body): boolean {
  const [version, method] = [
    header(request, 'mcp-protocol-version'),
    header(request, 'mcp-method'),
  ];
  if (version !== REVISION || method !== CALL || !isMessage(body)) return false;
  // None of them may be null, which would have the text of a missing one.
  if (DECLARED.some((key) => meta[key] === null)) return false;
  // Only these of the metadata are checked, and a client declares the same with each call.
  const declared = JSON.stringify(DECLARED.map((key) => meta[key]));
  if (validDeclarations.get(declared)) return true;
  const found = classifyInboundRequest({
    httpMethod: 'POST',
    protocolVersionHeader: version,
    mcpMethodHeader: method,
    body,
  });
  const isValid = found.kind === 'modern' && found.classification.revision === REVISION;
  if (isValid && declared.length <= DECLARED_MAX) validDeclarations.set(declared, true);
  return isValid;
}

const DECLARED = [
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  RELATED_TASK_META_KEY,
];
/** Longest declaration that is remembered, characters of JSON. */
const DECLARED_MAX = 4_096;
/** Those that the SDK found valid: it needs as long for them as for the rest of a plain call. */
const validDeclarations = new LruMap<string, true>(256);

/** A request of JSON-RPC that has parameters. */
const isMessage = (body: Body): boolean => {
  const { jsonrpc, id } = body;
  const isId = typeof id === 'string' || Number.isSafeInteger(id);
  return jsonrpc === '2.0' && isId && Object.keys(body).length === 4;
};

/** The answer, as a message of JSON-RPC. @param signal aborted when the client disconnects */
export async function answerDirectly(
  { id, args, meta }: DirectCall,
  tool: McpTool<CallContext>,
  signal: AbortSignal,
  info: ServerInfo,
): Promise<object> {
  const context: CallContext = {
    mcpReq: {
      _meta: meta,
      envelope: meta,
      requestState: () => undefined,
      signal,
      notify: () => Promise.resolve(),
    },
  };
  try {
    const features = featuresIn(meta[CLIENT_CAPABILITIES_META_KEY], true);
    const answer = (await answerOf(tool, args, context, features)) as { readonly _meta?: object };
    const result = {
      resultType: 'complete',
      ...answer,
      _meta: { ...answer._meta, [SERVER_INFO_META_KEY]: info },
    };
    return { jsonrpc: '2.0', id, result };
  } catch (error) {
    return { jsonrpc: '2.0', id, error: errorOf(error) };
  }
}

/** As the SDK has it. */
const errorOf = (thrown: unknown): object => {
  const { code, message, data } = (thrown ?? {}) as Readonly<Record<string, unknown>>;
  return {
    code: Number.isSafeInteger(code) ? code : ProtocolErrorCode.InternalError,
    message: message ?? 'Internal error',
    ...(data === undefined ? {} : { data }),
  };
};
