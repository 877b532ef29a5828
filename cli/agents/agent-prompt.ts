/**
 * `troupe agent prompt`: the system prompt that an agent's models would receive now, and the source
 * of each part. It is built like the prompt of a run. It connects to no gateway: it reads the
 * configuration, hooks, skills and the workspace, also while another process uses them. It calls
 * the `agent:bootstrap` hooks, but not `before_agent_start`, which belongs to a run.
 */
import { join } from 'node:path';
import { address, DEFAULT_TENANT } from '../../protocols/address.ts';
import type { PromptReport, PromptSource } from '../../protocols/session.ts';
import { type Config, defaultAgent, resolveAgents } from '../../runtime/config/index.ts';
import type { Peeked } from '../../runtime/index.ts';
import { filesFolder } from '../../installation/workspaces.ts';
import { isClustered, notAFolder } from './agent-workspace.ts';
import { exitCodes } from '../exit.ts';
import { loadForTenant, type TenantOptions } from '../options.ts';
import { table } from '../../operations/text.ts';
import { printJson } from '../output.ts';
import { withProgress } from '../progress.ts';
import { untilSignal } from '../processes/signals.ts';

export type AgentPromptOptions = TenantOptions & {
  readonly agent?: string;
  readonly session?: string;
  readonly explain?: boolean;
};

/** @throws TroupeError for an unknown agent, and UNAVAILABLE as workspaces do */
export async function agentPrompt(options: AgentPromptOptions): Promise<number> {
  const shown = await withProgress(({ show }) => {
    show('building the prompt');
    return promptOf(options);
  });
  print(shown, options);
  return exitCodes.ok;
}

async function promptOf(options: AgentPromptOptions): Promise<Shown> {
  const { config, installation } = await loadForTenant(options);
  const [{ openParts }, { partsFor }, settings, keys, effects] = await Promise.all([
    import('./prompt-parts.ts'),
    import('../../installation/tenant-parts.ts'),
    import('../../installation/agent-settings.ts'),
    import('../../operations/sessions/session-key.ts'),
    import('../../actors/session/effects/assemble.ts'),
  ]);
  const names = {
    defaultAgentId: defaultAgent(config).id,
    mainKey: config.session.mainKey,
    agents: resolveAgents(config).map(({ id }) => ({ id, model: '' })),
  };
  const given = { sessionKey: options.session, agentId: options.agent };
  const { sessionKey, agentId } = keys.fullSessionKey(names, given);
  const { tenant = DEFAULT_TENANT } = options;
  const quiet = { ...installation, log: { ...config.log, level: 'warn' as const } };
  const parts = await openParts(quiet);
  const { agents, services } = partsFor(parts, tenant);
  const resolved = agents.find(({ id }) => id === agentId)!;
  const about = { tenant, agentId, sessionKey };
  const folder = filesFolder(config, address(tenant, 'agent', agentId), isClustered(config));
  if (folder === undefined && !isClustered(config)) throw notAFolder(agentId);
  const workspaces = await peekingOf(config, folder);
  try {
    const prompt = await effects.promptFor(
      { ...about, settings: settings.settingsOf(resolved) },
      {
        services,
        actor: address(tenant, 'session', sessionKey),
        peek: workspaces.peek,
        now: () => Date.now(),
      },
      about,
    );
    return { agentId, sessionKey, ...(folder && { workspace: folder }), ...prompt };
  } finally {
    await workspaces.close();
    await parts.plugins.close();
  }
}

type Shown = {
  readonly agentId: string;
  readonly sessionKey: string;
  /** the agent's folder, if it has one */
  readonly workspace?: string;
  readonly digest: string;
  readonly system: string;
  readonly report: PromptReport;
};

function print(shown: Shown, { json = false, explain = false }: AgentPromptOptions): void {
  if (json) return printJson(shown);
  process.stdout.write(explain ? explained(shown) : `${shown.system}\n`);
}

function explained({ agentId, sessionKey, workspace, report, system }: Shown): string {
  const { sources, tokens, tools, skills, problems = [] } = report;
  return [
    table(['source', 'characters', 'of', 'note'], sources.map(cells)).trimEnd(),
    '',
    `${agentId} in ${sessionKey}: ${system.length} characters, about ${tokens} tokens`,
    `workspace: ${workspace ?? 'in the store of the cluster'}`,
    `tools: ${tools.join(', ') || 'none'}`,
    `skills: ${skills.join(', ') || 'none'}`,
    ...problems.map((problem) => `problem: ${problem}`),
    '',
  ].join('\n');
}

const NOTES: Record<NonNullable<PromptSource['left']>, string> = {
  missing: 'does not exist',
  empty: 'is empty',
  unreadable: 'left out: not text, too large, or a link that leaves the workspace',
  hook: 'removed by a hook',
  limit: 'left out: the prompt is at its limit',
};

const cells = ({ name, characters, cutFrom, left }: PromptSource): string[] => [
  name,
  left ? '' : String(characters),
  cutFrom === undefined ? '' : String(cutFrom),
  left ? NOTES[left] : cutFrom === undefined ? '' : 'shortened in the middle',
];

type Peeking = {
  readonly peek: (
    actor: string,
    paths: readonly string[],
    before?: Peeked,
  ) => Promise<Peeked | undefined>;
  readonly close: () => Promise<void>;
};

/** The workspaces of this installation. The store is not opened, because troupe may be running. */
async function peekingOf(config: Config, folder: string | undefined): Promise<Peeking> {
  if (folder !== undefined) {
    const { peekFolder } = await import('../../runtime/workspaces/peek.ts');
    const peek: Peeking['peek'] = (_, paths, before) => peekFolder(folder, paths, before, Date.now);
    return { peek, close: () => Promise.resolve() };
  }
  const [{ linkCluster }, { syncedWorkspaces }] = await Promise.all([
    import('../cluster/cluster-link.ts'),
    import('../../runtime/workspaces/synced.ts'),
  ]);
  const { store, blobs } = await linkCluster(config, untilSignal());
  const cacheFolder = config.runtime.workspaces.path ?? join(config.home, 'workspaces');
  const workspaces = syncedWorkspaces({ blobs, cell: store.cell, cacheFolder });
  const peek: Peeking['peek'] = (actor, ...about) => workspaces.peek(actor as never, ...about);
  return { peek, close: () => store.close() };
}
