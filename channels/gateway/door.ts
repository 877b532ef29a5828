/** What every part of the gateway shares: the system behind it and the facts a client is told. */
import type { Logger } from './log.ts';
import type { Clock, Principal, System } from '../../runtime/index.ts';
import type { GatewayAuth } from './access.ts';
import type { Presence } from './presence.ts';
import type { RunBook } from './run-book.ts';
import type { AgentNames } from './session-key.ts';

export type Door = {
  readonly system: System;
  readonly tenant: string;
  readonly names: AgentNames;
  readonly authMode: GatewayAuth['mode'];
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly runs: RunBook;
  readonly presence: Presence;
  /** names this run of the gateway; differs after a restart */
  readonly bootId: string;
  /** monotonic milliseconds */
  readonly startedAt: number;
};

/** Everybody who knows the shared secret is the same person. */
export const OPERATOR: Principal = { sub: 'operator', roles: ['operator'] };
