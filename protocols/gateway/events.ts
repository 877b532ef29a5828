/** Events of the gateway, except `chat` (chat.ts) and the challenge (connect.ts). */
import { type Static, Type } from '@sinclair/typebox';
import { ExecApproval, ExecApprovalResolved } from './approvals.ts';
import { ChatEvent } from './chat.ts';
import { ConnectChallenge, Health, PresenceEntry } from './connect.ts';
import { cronEvents } from './cron.ts';
import { deviceEvents } from './devices.ts';
import type { EventArea } from './method.ts';
import { nodeEvents } from './nodes.ts';
import { operationEvents } from './operations.ts';
import { sessionEvents } from './sessions.ts';
import { workEvents } from './work.ts';
import { AnyObject, closed, Count, NonEmpty, Optional } from './shapes.ts';

/**
 * Payload of `agent`: the live run. `stream` is lifecycle, assistant, reasoning, tool, compaction,
 * steer, subagent or block (docs/streaming.md) and determines the fields of `data`. `seq` increases
 * within a run. A `subagent` event may arrive after the run's end. The published schema (2026.9.1)
 * lacks the three session fields, which OpenClaw sends and its clients read.
 */
export const AgentEvent = Type.Object(
  {
    runId: NonEmpty,
    seq: Count,
    stream: NonEmpty,
    /** epoch milliseconds */
    ts: Count,
    data: AnyObject,
    sessionKey: Optional(NonEmpty),
    sessionId: Optional(NonEmpty),
    agentId: Optional(NonEmpty),
    spawnedBy: Optional(NonEmpty),
    isHeartbeat: Optional(Type.Boolean()),
  },
  closed,
);
export type AgentEvent = Static<typeof AgentEvent>;

/**
 * Payload of `presence`: the connected clients; replaces the previous list. `total` is an
 * extension: the number of clients, if the list is incomplete.
 */
export const PresenceEvent = Type.Object(
  { presence: Type.Array(PresenceEntry), total: Optional(Count) },
  closed,
);
export type PresenceEvent = Static<typeof PresenceEvent>;

export const TickEvent = Type.Object({ ts: Count }, closed);
export type TickEvent = Static<typeof TickEvent>;

export const ShutdownEvent = Type.Object(
  { reason: NonEmpty, restartExpectedMs: Optional(Count) },
  closed,
);
export type ShutdownEvent = Static<typeof ShutdownEvent>;

/** Every event of this gateway, with the schema of its payload. */
export const GatewayEvents = {
  'connect.challenge': ConnectChallenge,
  agent: AgentEvent,
  chat: ChatEvent,
  'exec.approval.requested': ExecApproval,
  'exec.approval.resolved': ExecApprovalResolved,
  presence: PresenceEvent,
  health: Health,
  tick: TickEvent,
  shutdown: ShutdownEvent,
  ...sessionEvents,
  ...deviceEvents,
  ...nodeEvents,
  ...cronEvents,
  ...workEvents,
  ...operationEvents,
} as const satisfies EventArea;

export type GatewayEventName = keyof typeof GatewayEvents;
export type GatewayEventPayload<E extends GatewayEventName> = Static<(typeof GatewayEvents)[E]>;
