/** What a gateway is started with. */
import type { Clock, System } from '../../runtime/index.ts';
import type { OperationServices } from '../../operations/operation.ts';
import type { Route } from '../http/route.ts';
import type { GatewayAuth } from './auth/access.ts';
import type { ModelRules } from '../../protocols/models/model-choice.ts';
import type { OnCommand } from './tenant/chat-commands.ts';
import type { Payloads } from './devices/node-payloads.ts';
import type { OnMessage } from './sessions/message-hook.ts';
import type { Logger } from './log.ts';
import type { BlockSettings } from './streams/block-settings.ts';
import type { AgentNames } from '../../operations/sessions/session-key.ts';
import type { Whois } from './auth/tailscale.ts';
import type { OpenInspection } from './transport/inspection-sockets.ts';
import type { Tenancy } from '../tenancy.ts';
import type { GatewayTls } from './transport/server.ts';
import type { Setup } from './setup.ts';

/** The data and settings of a gateway for one tenant. */
export type TenantOptions = AgentNames & {
  /** the models that exist, with their thinking levels */
  readonly models: ModelRules;
  /** settings that operators read and change; without it their methods are refused */
  readonly setup?: Setup;
  /** how answers are split into blocks, and whether requests receive them by default */
  readonly blocks?: BlockSettings;
  /** called before each chat command */
  readonly onCommand?: OnCommand;
  /** called before each message */
  readonly onMessage?: OnMessage;
};

/** The inherited fields apply to `tenant`. */
export type GatewayOptions = TenantOptions & {
  readonly system: System;
  /** 0 selects a free port */
  readonly port: number;
  readonly host: string;
  readonly auth: GatewayAuth;
  /** default: plain HTTP and WebSocket */
  readonly tls?: GatewayTls;
  /** tenant of clients that no mapping names */
  readonly tenant: string;
  /** troupe's version, sent to clients */
  readonly version: string;
  /** folder of the built page; without it there is no page */
  readonly webRoot?: string;
  /** plain HTTP routes in addition to the page */
  readonly routes?: readonly Route[];
  /** loads more routes, with the first request that none of `routes` serves */
  readonly laterRoutes?: () => Promise<readonly Route[]>;
  /** what operations use; without it they are refused */
  readonly operations?: OperationServices;
  /** serves Stately's inspector; without it nothing can be inspected */
  readonly inspect?: OpenInspection;
  /** the options of another tenant; default: those of `tenant` */
  readonly ofTenant?: (tenant: string) => TenantOptions;
  /** maps clients to tenants; default: all clients belong to `tenant` */
  readonly tenancy?: Tenancy;
  /** queries the Tailscale daemon; default: the command `tailscale` */
  readonly whois?: Whois;
  /** stores long answers of nodes; without it an answer has at most PAYLOAD_CHARACTERS_MAX */
  readonly payloads?: Payloads;
  /** why this gateway accepts no new work at present; default: it always does */
  readonly diskFault?: () => string | undefined;
  /** the last jump of this machine's clock, as text; default: none is known */
  readonly clockJump?: () => string | undefined;
  /** called for each accepted connection, in the turn of the event loop that accepts it */
  readonly onConnection?: () => void;
  readonly log: Logger;
  readonly clock: Clock;
};
