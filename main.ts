/**
 * The composition root: makes one running troupe out of a configuration. Everything is wired here
 * and nowhere else; nothing here decides.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { createModelCatalog } from './actors/agent/models/catalog.ts';
import type { AgentServices } from './actors/agent/services.ts';
import { builtInTools } from './actors/agent/tools/built-in.ts';
import { createToolRegistry } from './actors/agent/tools/registry.ts';
import { rootAddress, shippedActors } from './actors/index.ts';
import { startGateway } from './channels/index.ts';
import type { AgentSettings } from './protocols/agent.ts';
import { errorData } from './protocols/errors.ts';
import { createSystem, openEmbedded, type System, systemClock } from './runtime/index.ts';
import {
  bindHost,
  type Config,
  defaultAgent,
  type ResolvedAgent,
  resolveAgents,
  storeFolder,
} from './runtime/config/index.ts';
import packageJson from './package.json' with { type: 'json' };

export type Troupe = {
  /** of the page, without a secret */
  readonly url: string;
  readonly system: System;
  /** Tells clients, takes nothing new, commits what runs, closes the stores. May be repeated. */
  stop(): Promise<void>;
};

const TENANT = 'default';
/** Runs at once over all sessions of one agent. */
const RUNS_MAX = 1_000;
const SYSTEM = { sub: 'system', roles: ['operator'] };

/**
 * @throws TroupeError when the data folder or the port cannot be taken; what was opened is closed
 * again
 */
export async function startTroupe(config: Config): Promise<Troupe> {
  const log = pino({ level: config.log.level }, pino.destination({ dest: 2, sync: true }));
  const catalog = createModelCatalog(config.models, {
    env: process.env,
    clock: systemClock,
    ...offlinePace(process.env['TROUPE_OFFLINE_TOKENS_PER_SECOND']),
  });
  const agents = resolveAgents(config);
  for (const { model } of agents) if (model) catalog.resolve(model);
  const services: AgentServices = { catalog, tools: createToolRegistry(builtInTools) };
  const { runtime } = config;
  const ports = await openEmbedded({ path: storeFolder(config), durability: runtime.durability });
  const system = await createSystem({
    ...ports,
    actors: shippedActors(),
    services,
    shards: runtime.shards,
    supervisor: rootAddress(TENANT),
    limits: { groupTurnsMax: runtime.groupTurnsMax, residentsMax: runtime.residentsMax },
    onAlarm: (what) => log.warn({ alarm: true }, what),
  });
  const stopSystem = async () => {
    await system.tell(rootAddress(TENANT), { type: 'root.drain' }, { principal: SYSTEM });
    await system.stop();
  };
  try {
    // Before doors open: a first message must find its agent configured. A root that is out of
    // service is no reason to stay away: doors say what is wrong, and what does not need it goes
    // on.
    await startRoot(system, agents).catch((error: unknown) =>
      log.error({ alarm: true }, errorData(error).message),
    );
    const gateway = await openGateway(config, system, agents, catalog.defaultModel(), log);
    const stop = async () => {
      await gateway.close({ reason: 'troupe stops' });
      await stopSystem();
    };
    let stopping: Promise<void> | undefined;
    return {
      url: gateway.url,
      system,
      stop: () => (stopping ??= stop()),
    };
  } catch (error) {
    await stopSystem();
    throw error;
  }
}

function openGateway(
  config: Config,
  system: System,
  agents: readonly ResolvedAgent[],
  fallbackModel: string,
  log: Parameters<typeof startGateway>[0]['log'],
) {
  const { mode, token, password } = config.gateway.auth;
  return startGateway({
    system,
    port: config.gateway.port,
    host: bindHost(config),
    auth: {
      mode,
      ...(token ? { token: token.reveal() } : {}),
      ...(password ? { password: password.reveal() } : {}),
    },
    tenant: TENANT,
    defaultAgentId: defaultAgent(config).id,
    mainKey: config.session.mainKey,
    agents: agents.map(({ id, model }) => ({ id, model: model ?? fallbackModel })),
    version: packageJson.version,
    ...pageFolder(),
    log,
    clock: systemClock,
  });
}

/** The root configures the agents and answers when it has told them. */
async function startRoot(system: System, agents: readonly ResolvedAgent[]): Promise<void> {
  const event = { type: 'root.start', agents: agents.map(settingsOf) };
  const answer = await system.ask(rootAddress(TENANT), event, {
    principal: SYSTEM,
    timeoutMs: 30_000,
  });
  if (answer.kind === 'answered') return;
  const why = answer.kind === 'refused' ? answer.error.message : 'no answer within 30 s';
  throw new Error(`the root did not start, agents are as they were configured before: ${why}`);
}

const settingsOf = (agent: ResolvedAgent): AgentSettings => ({
  agentId: agent.id,
  timeoutMs: agent.timeoutSeconds * 1_000,
  runsMax: RUNS_MAX,
  tokensPerDay: 0,
  ...(agent.model ? { model: agent.model } : {}),
  ...(agent.purpose ? { purpose: agent.purpose } : {}),
  ...(agent.thinkingLevel ? { thinking: agent.thinkingLevel } : {}),
});

/** Beside the bundle, or built by `npm run build` in a checkout. */
function pageFolder(): { webRoot?: string } {
  for (const folder of ['./web/', './dist/web/']) {
    const path = fileURLToPath(new URL(folder, import.meta.url));
    if (existsSync(join(path, 'index.html')) && existsSync(join(path, 'main.js')))
      return { webRoot: path };
  }
  return {};
}

function offlinePace(text: string | undefined): { offlineTokensPerSecond?: number } {
  const pace = Number(text);
  return text !== undefined && Number.isFinite(pace) && pace >= 0
    ? { offlineTokensPerSecond: pace }
    : {};
}
