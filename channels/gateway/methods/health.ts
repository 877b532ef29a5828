/** `health`, `status`, `agents.list`, `models.list`, `system-presence`: what an operator reads. */
import type { Health, StatusResult } from '../../../protocols/gateway/index.ts';
import type { SessionRow } from '../../../protocols/session.ts';
import type { ShardStatus } from '../../../runtime/index.ts';
import type { Door } from '../door.ts';
import type { Request } from './request.ts';
import { modelParts, newestFirst, readSessions, SESSIONS_PATH } from './sessions.ts';

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

export const health = ({ door }: Request): Health => {
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

export const status = ({ door }: Request): StatusResult => {
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

export const agentsList = ({ door: { names } }: Request) => ({
  defaultId: names.defaultAgentId,
  mainKey: names.mainKey,
  scope: 'per-sender',
  agents: names.agents.map(({ id, model }) => ({ id, name: id, model: { primary: model } })),
});

/** The models that agents are configured with. */
export const modelsList = ({ door: { names } }: Request) => {
  const models = [...new Set(names.agents.map(({ model }) => model))];
  return {
    models: models.map((full) => {
      const { modelProvider = 'unknown', model = full } = modelParts(full);
      return { id: model, name: model, provider: modelProvider, available: true };
    }),
  };
};

export const systemPresence = ({ door }: Request) => door.presence.entries();
