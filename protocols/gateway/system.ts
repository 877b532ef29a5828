/**
 * The process and its clients: `health`, `status`, `system-presence`, `logs.tail` and similar
 * methods.
 */
import { type Static, Type } from '@sinclair/typebox';
import { AnyKey } from '../any-key.ts';
import { Health, PresenceEntry } from './connect.ts';
import type { MethodArea } from './method.ts';
import { AnyObject, Count, NonEmpty, Nullable, Optional, Text } from './shapes.ts';
import { usageMethods } from './usage.ts';

/** Extra fields that tools of operators send (`probe`, `verbose`, …) are ignored. */
export const HealthParams = AnyObject;
export type HealthParams = Static<typeof HealthParams>;
export const StatusParams = AnyObject;
export type StatusParams = Static<typeof StatusParams>;

const RecentSession = Type.Object({
  key: Text,
  updatedAt: Nullable(Type.Number()),
});

/** Response of `status`. `shards` is an extension; OpenClaw's `status` command shows the rest. */
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

/**
 * `cursor`: end of the previous response; absent: the newest lines. `limit`: lines, default 500.
 * `maxBytes`: default 250,000.
 */
export const LogsTailParams = Type.Object({
  cursor: Optional(Count),
  limit: Optional(Type.Integer({ minimum: 1, maximum: 5_000 })),
  maxBytes: Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
});
export type LogsTailParams = Static<typeof LogsTailParams>;

/**
 * Lines of JSON, oldest first. `truncated`: lines between the cursor and the first line are
 * missing; `reset`: the cursor belongs to another process.
 */
export const LogsTailResult = Type.Object({
  file: NonEmpty,
  cursor: Count,
  size: Count,
  lines: Type.Array(Text),
  truncated: Optional(Type.Boolean()),
  reset: Optional(Type.Boolean()),
});
export type LogsTailResult = Static<typeof LogsTailResult>;

export const SystemInfoResult = Type.Object({
  machineName: Text,
  hostname: Text,
  platform: Text,
  release: Text,
  arch: Text,
  osLabel: Text,
  port: Optional(Type.Integer()),
  nodeVersion: Text,
  pid: Type.Integer(),
  processInstanceId: Optional(NonEmpty),
  uptimeMs: Type.Integer(),
  cpuCount: Type.Integer(),
  cpuModel: Optional(Text),
  loadAverage: Optional(Type.Array(Type.Number())),
  memoryTotalBytes: Type.Integer(),
  memoryFreeBytes: Type.Integer(),
  diskTotalBytes: Optional(Type.Integer()),
  diskAvailableBytes: Optional(Type.Integer()),
  diskPath: Optional(Text),
});
export type SystemInfoResult = Static<typeof SystemInfoResult>;

/** Channels are the messengers to which troupe is connected. */
export const ChannelsStatusResult = Type.Object({
  ts: Count,
  channelOrder: Type.Array(NonEmpty),
  channelLabels: Type.Record(AnyKey, Text),
  channels: AnyObject,
  channelAccounts: AnyObject,
  channelDefaultAccountId: Type.Record(AnyKey, Text),
});
export type ChannelsStatusResult = Static<typeof ChannelsStatusResult>;

export const systemMethods = {
  health: { params: HealthParams, result: Health, scope: 'operator.read' },
  status: { params: StatusParams, result: StatusResult, scope: 'operator.read' },
  'system-presence': {
    params: AnyObject,
    result: Type.Array(PresenceEntry),
    scope: 'operator.read',
  },
  'system.info': { params: AnyObject, result: SystemInfoResult, scope: 'operator.read' },
  'channels.status': { params: AnyObject, result: ChannelsStatusResult, scope: 'operator.read' },
  'logs.tail': { params: LogsTailParams, result: LogsTailResult, scope: 'operator.read' },
  ...usageMethods,
} as const satisfies MethodArea;
