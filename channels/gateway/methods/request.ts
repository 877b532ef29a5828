/** One request of a client, and how a method answers it. */
import { TroupeError } from '../../../protocols/errors.ts';
import type { GatewayErrorShape } from '../../../protocols/gateway/index.ts';
import type { Principal } from '../../../runtime/index.ts';
import type { Connection } from '../transport/connection.ts';

/** Returned by a method that has sent every answer itself. */
export const ANSWERED = Symbol('answered');

/** `Context`: the part of the tenant's gateway that the method uses. */
export type Request<Context = unknown> = {
  readonly context: Context;
  readonly connection: Connection;
  readonly id: string;
  /** of the request's traceparent */
  readonly traceId: string | undefined;
};

/** The client's principal. @throws TroupeError UNAUTHORIZED before the handshake completed */
export const principalOf = ({ connection }: Request): Principal => {
  const { client } = connection;
  if (client !== undefined) return client.principal;
  throw new TroupeError('UNAUTHORIZED', 'request received before the handshake completed');
};

export const respond = ({ connection, id }: Request, payload: unknown): void =>
  connection.respond(id, payload);

export const refuse = (
  { connection, id }: Request,
  error: GatewayErrorShape,
  payload?: unknown,
): void => connection.refuse(id, error, payload);

/** Sends a payload that is JSON already, because many clients receive the same one. */
export const respondEncoded = ({ connection, id }: Request, payload: string): void =>
  connection.respondEncoded(id, payload);
