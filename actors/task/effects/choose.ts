/**
 * choose: an agent outside that serves an action: those that live before those that were missed,
 * and among them one that is always the same for a task and its attempt, so that a task whose agent
 * fails tries another one next. Nobody is asked who may not serve it
 * (actors/listing/rights.ts).
 */
import { AGENTS_INDEX, type AgentRow, serves } from '../../../protocols/action.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { EffectContext, EffectDefinition } from '../../../runtime/index.ts';
import { rightsAmong } from '../../listing/rights.ts';
import { hashOf } from '../backoff.ts';
import type { RemoteAgent, PerformInput } from '../types.ts';

/** More agents than a registry takes. */
const AGENTS_READ_MAX = 10_000;

/** Repeatable: nobody is asked by it. Fails with UNAVAILABLE when nobody serves it now. */
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
