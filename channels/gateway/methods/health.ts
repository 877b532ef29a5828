/** The process and its clients: `health`, `status`, `system-presence`. */
import type { Health, StatusResult } from '../../../protocols/gateway/index.ts';
import type { SessionRow } from '../../../protocols/session.ts';
import type { ShardStatus } from '../../../runtime/index.ts';
import type { Door } from '../door.ts';
import { type MethodTable, published } from './method.ts';
import type { Request } from './request.ts';
import { newestFirst, readSessions, SESSIONS_PATH } from './sessions.ts';

const RECENT = 5;
const NO_HEARTBEAT = {
  enabled: false,
  every: '0m',
  everyMs: null,
  prompt: '',
  target: 'none',
  ackMaxChars: 0,
};

/** Shards that do not serve; none: the gateway is ready. */
export const shardsNotOwned = (shards: readonly ShardStatus[]): readonly ShardStatus[] =>
  shards.filter(({ state, why }) => state !== 'owned' || why !== undefined);

/** The part that costs nothing, for every hello. */
export const healthAtHello = ({ system, clock, names }: Door): Health => ({
  ...(isReady(system.status()) ? { ok: true } : {}),
  ts: clock.wallMs(),
  defaultAgentId: names.defaultAgentId,
});

export const isReady = (shards: readonly ShardStatus[]): boolean =>
  shards.length > 0 && shardsNotOwned(shards).length === 0;

const health = ({ door }: Request): Health => {
  const now = door.clock.wallMs();
  const startedAt = door.clock.monotonicMs();
  const rows = newestFirst(readSessions(door));
  const summary = (of: readonly SessionRow[]) => ({
    path: SESSIONS_PATH,
    count: of.length,
    recent: of.slice(0, RECENT).map(({ sessionKey, updatedAt }) => ({
      key: sessionKey,
      updatedAt,
      age: Math.max(0, now - updatedAt),
    })),
  });
  return {
    ...healthAtHello(door),
    channels: {},
    channelOrder: [],
    channelLabels: {},
    heartbeatSeconds: 0,
    agents: door.names.agents.map(({ id }) => ({
      agentId: id,
      name: id,
      isDefault: id === door.names.defaultAgentId,
      heartbeat: NO_HEARTBEAT,
      sessions: summary(rows.filter(({ agentId }) => agentId === id)),
    })),
    sessions: summary(rows),
    durationMs: Math.round(door.clock.monotonicMs() - startedAt),
  };
};

const status = ({ door }: Request): StatusResult => {
  const rows = newestFirst(readSessions(door));
  const recent = (of: readonly SessionRow[]) =>
    of.slice(0, RECENT).map(({ sessionKey, updatedAt }) => ({ key: sessionKey, updatedAt }));
  const { names } = door;
  return {
    runtimeVersion: door.version,
    heartbeat: { defaultAgentId: names.defaultAgentId, agents: [] },
    channelSummary: [],
    queuedSystemEvents: [],
    sessions: {
      paths: [SESSIONS_PATH],
      count: rows.length,
      defaults: {
        model: names.agents.find(({ id }) => id === names.defaultAgentId)?.model ?? null,
        contextTokens: null,
      },
      recent: recent(rows),
      byAgent: names.agents.map(({ id }) => {
        const own = rows.filter(({ agentId }) => agentId === id);
        return { agentId: id, path: SESSIONS_PATH, count: own.length, recent: recent(own) };
      }),
    },
    shards: [...door.system.status()],
  };
};

const systemPresence = ({ door }: Request) => door.presence.entries();

export const systemTable: MethodTable = [
  published('health', health),
  published('status', status),
  published('system-presence', systemPresence),
];
