/** What an error of the SDK says about a call: a result, not made, or lost. */
import type { Client } from '@modelcontextprotocol/client';
import { defined } from '../../protocols/defined.ts';
import { type ErrorCode, TroupeError } from '../../protocols/errors.ts';
import type { RemoteCall } from '../../protocols/remote-call.ts';
import { isBusy } from './busy.ts';
import type { CallResult } from './call-result.ts';
import { isLoginFailure } from './oauth/login-failure.ts';
import type { McpServer } from './server.ts';
import { isStreamEnd } from './stream-end.ts';

/** Of connections that were not made. */
const NOT_SENT: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Status codes of requests that were refused. */
const REFUSED: Readonly<Record<number, ErrorCode>> = {
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
};

type Failed = { readonly call: RemoteCall; readonly client: Client; readonly server: McpServer };

/**
 * The result when the server answered.
 * @throws TroupeError when the call was not made or may be repeated; Error when the outcome of a
 *   call of class `once` is not known
 */
export async function lostOr(error: unknown, failed: Failed): Promise<CallResult> {
  const { server, client, call } = failed;
  if (isLoginFailure(error)) throw error;
  const { InsufficientScopeError, ProtocolError, SdkError, SdkErrorCode } = await import(
    '@modelcontextprotocol/client'
  );
  const message = server.messageOf(error);
  if (error instanceof ProtocolError && !isStreamEnd(error))
    return { text: `The MCP server ${server.name} refused the call: ${message}`, isError: true };
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
    return { text: `${server.name} returned an invalid result: ${message}`, isError: true };
  // A repeat would end in the same way.
  if (error instanceof RangeError)
    return { text: `${server.name} returned a result that is nested too deeply`, isError: true };
  const text = `the MCP server ${server.name}: ${message}`;
  if (isBusy(error))
    throw new TroupeError(error.code, text, defined({ retryAfterMs: error.retryAfterMs }));
  if (error instanceof InsufficientScopeError) throw new TroupeError('FORBIDDEN', text);
  const status = statusOf(error);
  if (status === 404 && client.transport?.sessionId !== undefined) {
    // The session of 2025 is gone, and with it nothing was done.
    await server.lose(client);
    throw new TroupeError('UNAVAILABLE', text);
  }
  const refused = status === undefined ? undefined : REFUSED[status];
  if (refused) throw new TroupeError(refused, text);
  if (status !== undefined && status >= 400 && status < 500) return { text, isError: true };
  if (wasNotSent(error)) {
    await server.lose(client);
    throw new TroupeError(error instanceof TroupeError ? error.code : 'UNAVAILABLE', text);
  }
  const isLate = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
  if (!isLate && !(error instanceof ProtocolError)) await server.lose(client);
  if (call.class === 'once') throw new Error(text);
  throw new TroupeError('UNAVAILABLE', text);
}

const statusOf = (error: unknown): number | undefined => {
  const { status } = error as { readonly status?: unknown };
  return typeof status === 'number' ? status : undefined;
};

/** Whether the request has certainly not reached the server. */
function wasNotSent(error: unknown): boolean {
  if (!(error instanceof TroupeError)) return false;
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return error.code === 'FORBIDDEN' || NOT_SENT.has(code);
}
