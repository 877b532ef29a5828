/** One request on its way through a method. */
import { TroupeError } from '../../../protocols/errors.ts';
import type { GatewayErrorShape } from '../../../protocols/gateway/index.ts';
import type { Principal } from '../../../runtime/index.ts';
import type { Connection } from '../transport/connection.ts';

/** A method that has sent all its answers itself returns this. */
export const ANSWERED = Symbol('answered');

/** `Context`: the part of the tenant's gateway that the method uses. */
export type Request<Context = unknown> = {
  readonly context: Context;
  readonly connection: Connection;
  readonly id: string;
  /** of the request's traceparent */
  readonly traceId: string | undefined;
};

/** In whose name the request is. @throws TroupeError UNAUTHORIZED of who has said no hello */
export const principalOf = ({ connection }: Request): Principal => {
  const { client } = connection;
  if (client !== undefined) return client.principal;
  throw new TroupeError('UNAUTHORIZED', 'a request before hello is in nobody’s name');
};

export const respond = ({ connection, id }: Request, payload: unknown): void =>
  connection.respond(id, payload);

export const refuse = (
  { connection, id }: Request,
  error: GatewayErrorShape,
  payload?: unknown,
): void => connection.refuse(id, error, payload);

/** An answer that is JSON already: one that many are given. */
export const respondEncoded = ({ connection, id }: Request, payload: string): void =>
  connection.respondEncoded(id, payload);
