/**
 * choose: selects an external agent for an action: live agents before degraded ones, and among them
 * the same one for a task and its attempt, so that the next attempt tries another agent. Agents
 * that may not serve the action are never selected (actors/listing/rights.ts).
 */
import { AGENTS_INDEX, type AgentRow, serves } from '../../../protocols/action.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { EffectContext, EffectDefinition } from '../../../runtime/index.ts';
import { rightsAmong } from '../../listing/rights.ts';
import { hashOf } from '../../kit/backoff.ts';
import type { RemoteAgent, PerformInput } from '../types.ts';

/** More agents than a registry accepts. */
const AGENTS_READ_MAX = 10_000;

/** Repeatable: it calls no agent. Fails with UNAVAILABLE when no agent serves the action now. */
export const choose: EffectDefinition<PerformInput, RemoteAgent> = {
  class: 'repeatable',
  async run({ taskId, attempt, envelope }, context) {
    const { action, action_version } = envelope;
    const serving = (await serversOf(envelope, context)).filter(({ status }) => status !== 'gone');
    const live = serving.filter(({ status }) => status === 'live');
    const choice = live.length > 0 ? live : serving;
    const chosen = choice[(hashOf(taskId) + attempt - 1) % choice.length];
    if (chosen?.url !== undefined) return { agent_id: chosen.agent_id, url: chosen.url };
    throw new TroupeError(
      'UNAVAILABLE',
      `no agent serves ${action} ${action_version} at present: its heartbeats are missed, or it left`,
    );
  },
};

/** Agents outside that offer the action, whether they live or not. */
async function serversOf(
  { action, action_version, tenant_id }: Envelope,
  context: Pick<EffectContext, 'index'>,
): Promise<readonly AgentRow[]> {
  const index = await context.index();
  const rows = index
    .list<AgentRow>(AGENTS_INDEX, tenant_id, { limit: AGENTS_READ_MAX })
    .map(({ value }) => value);
  const rights = rightsAmong(rows);
  return rows
    .filter((row) => row.url !== undefined && rights.mayServe(row, action))
    .filter(({ actions }) =>
      actions.some((spec) => spec.action === action && serves(spec.action_version, action_version)),
    );
}
