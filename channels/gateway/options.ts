/** What a gateway is started with. */
import type { Clock, System } from '../../runtime/index.ts';
import type { Route } from '../http/route.ts';
import type { GatewayAuth } from './auth/access.ts';
import type { ModelRules } from '../../protocols/model-choice.ts';
import type { OnCommand } from './tenant/chat-commands.ts';
import type { Payloads } from './devices/node-payloads.ts';
import type { OnMessage } from './sessions/message-hook.ts';
import type { Logger } from './log.ts';
import type { BlockSettings } from './streams/run-blocks.ts';
import type { AgentNames } from './sessions/session-key.ts';
import type { Whois } from './auth/tailscale.ts';
import type { Tenancy } from '../tenancy.ts';
import type { Setup } from './setup.ts';

/** The data and settings of a gateway for one tenant. */
export type TenantOptions = AgentNames & {
  /** which models exist, and the thinking levels of each */
  readonly models: ModelRules;
  /** settings that operators read and change; without it those methods are refused */
  readonly setup?: Setup;
  /** how answers are cut into blocks, and whether requests that do not say receive them */
  readonly blocks?: BlockSettings;
  /** hooks of commands */
  readonly onCommand?: OnCommand;
  /** hooks of messages */
  readonly onMessage?: OnMessage;
};

/** Its own face is that of `tenant`. */
export type GatewayOptions = TenantOptions & {
  readonly system: System;
  /** 0 selects a free one */
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
  /** of another tenant; default: that of `tenant` */
  readonly ofTenant?: (tenant: string) => TenantOptions;
  /** who is of which tenant; default: everybody of `tenant` */
  readonly tenancy?: Tenancy;
  /** asks the Tailscale daemon; default by the command `tailscale` */
  readonly whois?: Whois;
  /** long answers of nodes; without them an answer has at most PAYLOAD_CHARACTERS_MAX */
  readonly payloads?: Payloads;
  readonly log: Logger;
  readonly clock: Clock;
};
