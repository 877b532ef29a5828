/**
 * Agents outside that serve an action: those that live before those that were missed, and among
 * them one that is always the same for a task and its attempt, so that a task whose agent fails
 * tries another one next (EN14).
 */
import {
  AGENTS_INDEX,
  type AgentRow,
  DEGRADED_AFTER_MS,
  serves,
} from '../../../protocols/action.ts';
import { epochMsOf } from '../../../protocols/check.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { EffectContext } from '../../../runtime/index.ts';
import { hashOf } from '../backoff.ts';

/** More agents than a registry takes. */
const AGENTS_READ_MAX = 10_000;

type Wanted = { readonly taskId: string; readonly attempt: number; readonly envelope: Envelope };

/** @throws TroupeError UNAVAILABLE when nobody serves it now */
export async function agentFor(
  { taskId, attempt, envelope }: Wanted,
  context: Pick<EffectContext, 'index'>,
): Promise<AgentRow> {
  const { action, action_version } = envelope;
  const serving = (await serversOf(envelope, context)).filter(({ status }) => status !== 'gone');
  const live = serving.filter(({ status }) => status === 'live');
  const choice = live.length > 0 ? live : serving;
  const chosen = choice[(hashOf(taskId) + attempt - 1) % choice.length];
  if (chosen) return chosen;
  throw new TroupeError(
    'UNAVAILABLE',
    `no agent serves ${action} ${action_version} at present: its heartbeats are missed, or it left`,
  );
}

/**
 * All that may have been asked in one of the attempts: the registry has changed since, so not only
 * those that would be chosen now. One that left the registry altogether is not among them.
 * @throws as `agentFor`
 */
export async function agentsAsked(
  { taskId, envelope }: Pick<Wanted, 'taskId' | 'envelope'>,
  attempts: number,
  context: Pick<EffectContext, 'index'>,
): Promise<readonly AgentRow[]> {
  const begunMs = epochMsOf(envelope.timestamp);
  const agents = new Map<string, AgentRow>();
  for (const agent of await serversOf(envelope, context))
    if (epochMsOf(agent.last_seen_at) + DEGRADED_AFTER_MS >= begunMs)
      agents.set(agent.agent_id, agent);
  // Where none lived, one that was missed was asked.
  if (agents.size === 0)
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const agent = await agentFor({ taskId, envelope, attempt }, context);
      agents.set(agent.agent_id, agent);
    }
  return [...agents.values()];
}

/** Agents outside that offer the action, whether they live or not. */
async function serversOf(
  { action, action_version, tenant_id }: Envelope,
  context: Pick<EffectContext, 'index'>,
): Promise<readonly AgentRow[]> {
  const index = await context.index();
  return index
    .list<AgentRow>(AGENTS_INDEX, tenant_id, { limit: AGENTS_READ_MAX })
    .map(({ value }) => value)
    .filter(({ url }) => url !== undefined)
    .filter(({ actions }) =>
      actions.some((spec) => spec.action === action && serves(spec.action_version, action_version)),
    );
}
