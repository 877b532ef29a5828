/** The form of an entry in the table of methods. */
import type { TSchema } from '@sinclair/typebox';
import type { Scope } from './connect.ts';

export type GatewayMethod = {
  readonly params: TSchema;
  readonly result: TSchema;
  /**
   * the required scope of an operator, or the role `node`; null: none, because the method is the
   * handshake
   */
  readonly scope: Scope | 'node' | null;
};
/** The methods of one area, by name. */
export type MethodArea = Readonly<Record<string, GatewayMethod>>;
/** The events of one area, with the schema of their payload. */
export type EventArea = Readonly<Record<string, TSchema>>;
