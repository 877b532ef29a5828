/**
 * The JSON-RPC binding: the transport handlers of the SDK on our operations. What the SDK does not
 * check is checked here, and its errors are replaced by those of `errors.ts`.
 */
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { JsonRpcTransportHandler } from '@a2a-js/sdk/server';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { type RouteRequest, sendJson } from '../http/route.ts';
import { jsonRpcError, type JsonRpcId, jsonRpcStatus, notJsonRpc, type Refusal } from './errors.ts';
import { callContext, jsonOf, sendStream, type Streamed } from './requests.ts';
import { LEGACY_VERSION } from './cards.ts';

export type JsonRpcParts = Pick<Streamed<unknown>, 'streams' | 'who' | 'eventId'> & {
  readonly incoming: RouteRequest;
  readonly version: string;
  /** @param onError called with what an operation throws */
  readonly handlerOf: (onError: (thrown: unknown) => void) => A2ARequestHandler;
  /** logs what is a fault of this program */
  readonly refusal: (thrown: unknown) => Refusal;
  readonly send: (refusal: Refusal, id: JsonRpcId) => void;
};

type Request = {
  readonly id: JsonRpcId;
  readonly body: Record<string, unknown>;
};

export async function serveJsonRpc(parts: JsonRpcParts): Promise<void> {
  const { incoming, version, handlerOf, refusal, send } = parts;
  const json = await jsonOf(incoming);
  const request = json ? requestOf(json.value) : notJsonRpc('PARSE_ERROR', 'the body is not JSON');
  if ('message' in request) return send(request, null);
  const { id, body } = request;
  let failed: { readonly thrown: unknown } | undefined;
  const handler = handlerOf((thrown) => (failed = { thrown }));
  const transport =
    version === LEGACY_VERSION
      ? new LegacyJsonRpcTransportHandler(handler)
      : new JsonRpcTransportHandler(handler);
  const answer = await transport.handle(body, callContext(version));
  if (Symbol.asyncIterator in answer) {
    const iterator = answer[Symbol.asyncIterator]() as AsyncIterator<object>;
    try {
      return await sendStream(incoming, {
        ...parts,
        iterator,
        encode: (event) => event,
        failure: (thrown) => jsonRpcError(id, refusal(thrown)),
      });
    } catch (thrown) {
      return send(refusal(thrown), id);
    }
  }
  if ('error' in answer && answer.error !== undefined)
    return send(failed ? refusal(failed.thrown) : refusalOfSdk(answer.error), id);
  sendJson(incoming.response, 200, answer);
}

/** The request, or why it is none. */
function requestOf(value: unknown): Request | Refusal {
  const invalid = (message: string) => notJsonRpc('INVALID_REQUEST', message);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return invalid('send one request of JSON-RPC 2.0');
  const body = value as Record<string, unknown>;
  const { jsonrpc, method, id = null } = body;
  if (jsonrpc !== '2.0') return invalid('jsonrpc must be "2.0"');
  if (typeof method !== 'string' || method === '') return invalid('method must be a text');
  if (typeof id !== 'string' && !Number.isSafeInteger(id) && id !== null)
    return invalid('id must be a text or a whole number');
  return { id: id as JsonRpcId, body };
}

/** What the SDK refuses before it calls an operation: an unknown method, or its parameters. */
const refusalOfSdk = (error: unknown): Refusal => {
  const { code } = error as { code?: unknown };
  return code === -32_601
    ? notJsonRpc('METHOD_NOT_FOUND', 'there is no such method')
    : notJsonRpc('INVALID_PARAMS', 'the parameters are not valid');
};

/** A refusal before the request was read, or one of its own. */
export const sendJsonRpcError = (
  { response }: RouteRequest,
  refusal: Refusal,
  id: JsonRpcId,
  headers: Readonly<Record<string, string>>,
): void => sendJson(response, jsonRpcStatus(refusal), jsonRpcError(id, refusal), headers);
