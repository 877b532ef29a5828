/** What the table of methods says of each one. */
import type { TSchema } from '@sinclair/typebox';
import type { Scope } from './connect.ts';

export type GatewayMethod = {
  readonly params: TSchema;
  readonly result: TSchema;
  /**
   * what a client needs: an operator's scope, or to be connected as a `node`; null: nothing,
   * because it is what grants them
   */
  readonly scope: Scope | 'node' | null;
};
/** The methods of one area, by name. */
export type MethodArea = Readonly<Record<string, GatewayMethod>>;
/** The events of one area, with the schema of their payload. */
export type EventArea = Readonly<Record<string, TSchema>>;
