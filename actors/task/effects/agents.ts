/**
 * Agents outside that serve an action: those that live before those that were missed, and among
 * them one that is always the same for a task and its attempt, so that a task whose agent fails
 * tries another one next (EN14).
 */
import { AGENTS_INDEX, type AgentRow, serves } from '../../../protocols/action.ts';
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
  const { action, action_version, tenant_id } = envelope;
  const index = await context.index();
  const serving = index
    .list<AgentRow>(AGENTS_INDEX, tenant_id, { limit: AGENTS_READ_MAX })
    .map(({ value }) => value)
    .filter((agent) => agent.url !== undefined && agent.status !== 'gone')
    .filter(({ actions }) =>
      actions.some((spec) => spec.action === action && serves(spec.action_version, action_version)),
    );
  const live = serving.filter(({ status }) => status === 'live');
  const choice = live.length > 0 ? live : serving;
  const chosen = choice[(hashOf(taskId) + attempt - 1) % choice.length];
  if (chosen) return chosen;
  throw new TroupeError(
    'UNAVAILABLE',
    `no agent serves ${action} ${action_version} at present: its heartbeats are missed, or it left`,
  );
}
