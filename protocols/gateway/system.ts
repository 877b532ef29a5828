/**
 * The process and its clients: `health`, `status`, `system-presence`, `logs.tail` and their like.
 */
import { type Static, Type } from '@sinclair/typebox';
import { Health, PresenceEntry } from './connect.ts';
import type { MethodArea } from './method.ts';
import { AnyObject, Count, Nullable, Optional, Text } from './shapes.ts';

/** Open: operators' tools send hints (`probe`, `verbose`, …) which are ignored. */
export const HealthParams = AnyObject;
export type HealthParams = Static<typeof HealthParams>;
export const StatusParams = AnyObject;
export type StatusParams = Static<typeof StatusParams>;

const RecentSession = Type.Object({
  key: Text,
  updatedAt: Nullable(Type.Number()),
});

/** Answer of `status`. `shards` is ours; the rest is what OpenClaw's `status` command shows. */
export const StatusResult = Type.Object({
  runtimeVersion: Optional(Text),
  heartbeat: Type.Object({ defaultAgentId: Text, agents: Type.Array(Type.Unknown()) }),
  channelSummary: Type.Array(Text),
  queuedSystemEvents: Type.Array(Text),
  sessions: Type.Object({
    paths: Type.Array(Text),
    count: Count,
    defaults: Type.Object({
      model: Nullable(Text),
      contextTokens: Nullable(Type.Number()),
    }),
    recent: Type.Array(RecentSession),
    byAgent: Type.Array(
      Type.Object({ agentId: Text, path: Text, count: Count, recent: Type.Array(RecentSession) }),
    ),
  }),
  shards: Optional(Type.Array(Type.Unknown())),
});
export type StatusResult = Static<typeof StatusResult>;

export const systemMethods = {
  health: { params: HealthParams, result: Health, scope: 'operator.read' },
  status: { params: StatusParams, result: StatusResult, scope: 'operator.read' },
  'system-presence': {
    params: AnyObject,
    result: Type.Array(PresenceEntry),
    scope: 'operator.read',
  },
} as const satisfies MethodArea;
