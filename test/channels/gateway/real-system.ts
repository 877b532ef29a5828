/** Real sessions, agents and their root on an embedded store, with the offline model. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHooks } from '../../../agent/hooks/create-hooks.ts';
import type { Hooks } from '../../../agent/hooks/hooks.ts';
import { createModelCatalog } from '../../../agent/models/catalog.ts';
import { basicTools } from '../../../agent/tools/basic/basic-tools.ts';
import { NO_SECRETS } from '../../../agent/tools/secret-mask.ts';
import { createToolRegistry } from '../../../agent/tools/registry.ts';
import {
  type AgentServices,
  rootAddress,
  shippedActors,
  type Tool,
} from '../../../actors/index.ts';
import { createSystem, openEmbedded, type System, systemClock } from '../../../runtime/index.ts';
import { OPERATOR } from '../../../channels/gateway/auth/handshake.ts';
import { OPEN_TALK } from '../../servers/talk-rules.ts';

/** A data folder, and a function that removes it. */
export const dataFolder = () => {
  const path = mkdtempSync(join(tmpdir(), 'troupe-gateway-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
};

export const openRealSystem = async (
  path: string,
  tokensPerSecond: number,
  tools: readonly Tool[] = basicTools,
  hooks: Hooks = createHooks(),
): Promise<System> => {
  const services: AgentServices = {
    catalog: createModelCatalog(
      { providers: {} },
      { clock: systemClock, offlineTokensPerSecond: tokensPerSecond },
    ),
    tools: createToolRegistry(tools),
    secrets: NO_SECRETS,
    hooks,
    talk: OPEN_TALK,
    ask: (to, event, options = {}) =>
      system.ask(to, event, { principal: OPERATOR, timeoutMs: 30_000, ...options }),
  };
  const system: System = await createSystem({
    ...(await openEmbedded({ path })),
    actors: shippedActors(),
    services,
    supervisor: rootAddress('default'),
  });
  const agents = ['main', 'second'].map((agentId) => ({
    agentId,
    timeoutMs: 60_000,
    runsMax: 1_000,
    tokensPerDay: 0,
  }));
  const answer = await system.ask(
    rootAddress('default'),
    { type: 'root.start', agents },
    { principal: OPERATOR, timeoutMs: 20_000 },
  );
  if (answer.kind !== 'answered') throw new Error(`no root: ${JSON.stringify(answer)}`);
  return system;
};
