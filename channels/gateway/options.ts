/** What a gateway is started with. */
import type { Clock, System } from '../../runtime/index.ts';
import type { Route } from '../http/route.ts';
import type { GatewayAuth } from './access.ts';
import type { OnCommand } from './command-desk.ts';
import type { OnMessage } from './door.ts';
import type { Logger } from './log.ts';
import type { AgentNames } from './session-key.ts';

export type GatewayOptions = AgentNames & {
  readonly system: System;
  /** 0 takes a free one */
  readonly port: number;
  readonly host: string;
  readonly auth: GatewayAuth;
  /** of who shows the shared secret and is named for no other */
  readonly tenant: string;
  /** of troupe, told to clients */
  readonly version: string;
  /** folder of the built page; without it there is no page */
  readonly webRoot?: string;
  /** plain HTTP beside the page */
  readonly routes?: readonly Route[];
  /** hooks of commands (AL6) */
  readonly onCommand?: OnCommand;
  /** hooks of messages (AL6) */
  readonly onMessage?: OnMessage;
  readonly log: Logger;
  readonly clock: Clock;
};
