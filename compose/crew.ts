/** Crew: what every process needs to run actors, whatever form it has. */
import type { Logger } from 'pino';
import { createHooks } from '../actors/agent/hooks/create-hooks.ts';
import { createModelCatalog, type ModelCatalog } from '../actors/agent/models/catalog.ts';
import type { AgentServices } from '../actors/agent/services.ts';
import { builtInTools } from '../actors/agent/tools/built-in.ts';
import { createReadingTools } from '../actors/agent/tools/reading-tools.ts';
import { createToolRegistry } from '../actors/agent/tools/registry.ts';
import type { SessionFacts } from '../actors/agent/tools/session-status.ts';
import { createTalkTools } from '../actors/agent/tools/talk-tools.ts';
import type { Tool } from '../actors/agent/tools/tool.ts';
import { rootAddress, shippedActors } from '../actors/index.ts';
import type { Setup } from '../channels/index.ts';
import { type Config, type ResolvedAgent, resolveAgents } from '../runtime/config/index.ts';
import { type System, type SystemOptions, systemClock } from '../runtime/index.ts';
import { createMetrics, type Metrics } from '../runtime/observe/metrics.ts';
import { settingsOf } from './agent-settings.ts';
import { hostToolsOf } from './host-tools.ts';
import { createLog } from './log.ts';
import { LogRing } from './setup/log-ring.ts';
import { nodeToolsOf } from './node-tools.ts';
import { labelsOf } from './observed.ts';
import { skillsFolderOf } from './skills.ts';
import { assertStartable } from './start-rules.ts';
import { talkRulesOf } from './talk-rules.ts';
import { webToolsOf } from './web-tools.ts';

/** Whoever comes through the doors of this version. */
export const TENANT = 'default';

export type Crew = {
  readonly log: Logger;
  /** the last lines of `log` */
  readonly ring: LogRing;
  /** of a process with a gateway, for the people at it */
  readonly setup?: Setup;
  readonly metrics: Metrics;
  readonly agents: readonly ResolvedAgent[];
  readonly fallbackModel: string;
  /** all that agents need but `ask`, which is the system's */
  readonly services: Omit<AgentServices, 'ask'>;
  readonly options: Pick<
    SystemOptions,
    | 'actors'
    | 'supervisor'
    | 'limits'
    | 'onAlarm'
    | 'onDeadLetter'
    | 'tenantWeights'
    | 'tenantRunningMax'
  >;
};

/**
 * `clustered`: for a process of a cluster; default false. `ownTools`: beside those that ship.
 * @throws ConfigError as `startRules` say; Error when two tools share a name
 */
export function hire(config: Config, clustered = false, ownTools: readonly Tool[] = []): Crew {
  assertStartable(config);
  const ring = new LogRing();
  const log = createLog(config.log.level, ring);
  const catalog = createModelCatalog(config.models, {
    env: process.env,
    clock: systemClock,
    ...offlinePace(process.env['TROUPE_OFFLINE_TOKENS_PER_SECOND']),
  });
  const agents = resolveAgents(config);
  const services: Crew['services'] = {
    catalog,
    tools: createToolRegistry([
      ...builtInTools,
      ...createReadingTools(sessionFacts(catalog, agents)),
      ...createTalkTools(),
      ...hostToolsOf(config, clustered),
      ...webToolsOf(config),
      ...nodeToolsOf(config),
      ...ownTools,
    ]),
    hooks: createHooks(),
    talk: talkRulesOf(config),
    skillsFolder: skillsFolderOf(config),
    skillsEnv: config.skills.env,
  };
  const { groupTurnsMax, residentsMax, tenantWeights } = config.runtime;
  const metrics = createMetrics();
  return {
    log,
    ring,
    metrics,
    agents,
    fallbackModel: catalog.defaultModel(),
    services,
    options: {
      actors: shippedActors(),
      supervisor: rootAddress(TENANT),
      limits: { groupTurnsMax, residentsMax },
      tenantWeights,
      tenantRunningMax: config.a2a.quota.runningMax,
      onAlarm: (what) => log.warn({ alarm: true }, what),
      onDeadLetter: (letter) => metrics.deadLetter(labelsOf(letter)),
    },
  };
}

/**
 * Messages that tools send. They wait for the system: what a run did when its process died goes on
 * while the system is being opened.
 */
export const askOf =
  (system: () => Promise<Pick<System, 'ask'>>): AgentServices['ask'] =>
  async (to, event, options = {}) =>
    (await system()).ask(to, event, { principal: AGENTS, timeoutMs: ASK_MS, ...options });

/** How long a tool waits for an actor, unless it says otherwise. */
const ASK_MS = 30_000;
const AGENTS = { sub: 'agents', roles: [] };

/** What agents are told of sessions that the rows do not say. */
function sessionFacts(catalog: ModelCatalog, agents: readonly ResolvedAgent[]): SessionFacts {
  const settings = new Map(agents.map((agent) => [agent.id, settingsOf(agent)]));
  return {
    fallbackModel: catalog.defaultModel(),
    settingsOf: (agentId) => settings.get(agentId),
    windowOf(model) {
      try {
        return catalog.resolve(model).model.contextWindow;
      } catch {
        return undefined;
      }
    },
  };
}

function offlinePace(text: string | undefined): { offlineTokensPerSecond?: number } {
  const pace = Number(text);
  return text !== undefined && Number.isFinite(pace) && pace >= 0
    ? { offlineTokensPerSecond: pace }
    : {};
}
