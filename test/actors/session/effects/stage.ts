/**
 * The environment of a session's effect, from real parts: a workspace in a folder, hooks and the
 * catalog. The transcript is a list.
 */
import { join } from 'node:path';
import type { HookModule } from '../../../../agent/hooks/define-hooks.ts';
import { createHooks } from '../../../../agent/hooks/create-hooks.ts';
import { createModelCatalog, type ModelSettings } from '../../../../agent/models/catalog.ts';
import type { SkillSettings } from '../../../../agent/prompt/agent-files.ts';
import type { AgentServices } from '../../../../agent/services.ts';
import { basicTools } from '../../../../agent/tools/basic/basic-tools.ts';
import { NO_SECRETS } from '../../../../agent/tools/secret-mask.ts';
import { createToolRegistry } from '../../../../agent/tools/registry.ts';
import { type Address, address } from '../../../../protocols/address.ts';
import type { AgentRow, AgentSettings } from '../../../../protocols/agent.ts';
import type { SessionEntry } from '../../../../protocols/session.ts';
import {
  type EffectContext,
  type EffectDefinition,
  systemClock,
} from '../../../../runtime/index.ts';
import { folderWorkspaces } from '../../../../runtime/workspaces/folder.ts';
import { WorkspacesOfEffect } from '../../../../runtime/workspaces/of-effect.ts';
import { temporaryFolder } from '../../../runtime/workspaces/temporary.ts';
import { NO_TALK } from '../../../servers/talk-rules.ts';

export const AGENT: Address = address('default', 'agent', 'main');
export const settings: AgentSettings = {
  agentId: 'main',
  timeoutMs: 60_000,
  runsMax: 1,
  tokensPerDay: 0,
};
export const session = {
  tenant: 'default',
  agentId: 'main',
  sessionKey: 'agent:main:main',
  sessionId: 's',
  runId: 'r',
  settings,
};

export type StageOptions = {
  readonly hooks?: HookModule;
  readonly models?: ModelSettings;
  readonly skills?: SkillSettings;
  readonly entries?: readonly SessionEntry[];
  /** the committed row of the agent */
  readonly agentRow?: Partial<AgentRow>;
  /** default true */
  readonly hasWorkspaces?: boolean;
};

export async function stage(options: StageOptions = {}) {
  const folder = await temporaryFolder();
  const root = join(folder, 'workspaces');
  const provider =
    options.hasWorkspaces === false
      ? undefined
      : folderWorkspaces({ root, cell: 'cell', create: true });
  const services: AgentServices = {
    catalog: createModelCatalog(options.models ?? { providers: {} }, {
      clock: systemClock,
      offlineTokensPerSecond: 0,
    }),
    tools: createToolRegistry(basicTools),
    secrets: NO_SECRETS,
    hooks: createHooks(options.hooks ? { modules: [options.hooks] } : {}),
    talk: NO_TALK,
    ask: () => Promise.reject(new Error('not asked for')),
    ...options.skills,
  };
  const { signal } = new AbortController();
  const stored = (options.entries ?? []).map((entry, at) => ({
    position: at + 1,
    at: 0,
    entry: entry as never,
  }));
  const context = (id: string, workspaces: WorkspacesOfEffect): EffectContext => ({
    id,
    attempt: 1,
    actor: address('default', 'session', session.sessionKey),
    signal,
    publish: () => {},
    now: () => Date.now(),
    services,
    transcript: () => ({
      read: ({ from = 1, limit = 1_000 } = {}) =>
        Promise.resolve(stored.slice(from - 1, from - 1 + limit)),
      last: () => Promise.resolve(stored.length),
    }),
    index: () => Promise.reject(new Error('not asked for')),
    past: () => Promise.reject(new Error('not asked for')),
    row: <V>() => Promise.resolve(options.agentRow as V | undefined),
    workspace: (actor = AGENT) => workspaces.open(actor),
    peek: async (...about) => provider?.peek(...about),
  });
  return {
    folder,
    services,
    /** Runs an effect as the host does: its workspaces are saved when it succeeds. */
    run: async <T>(
      work: (context: EffectContext) => Promise<T>,
      id = 'effect-1',
      workspace: EffectDefinition['workspace'] = 'save',
    ): Promise<T> => {
      const workspaces = new WorkspacesOfEffect(provider, signal);
      try {
        const outcome = await work(context(id, workspaces));
        if (workspace === 'save') await workspaces.save();
        return outcome;
      } finally {
        await workspaces.close();
      }
    },
    /** Writes into the agent's folder. */
    inWorkspace: async (work: (path: string) => Promise<void>): Promise<void> => {
      const workspace = await provider!.open(AGENT, { signal });
      await work(workspace.path);
      await workspace.close();
    },
  };
}
