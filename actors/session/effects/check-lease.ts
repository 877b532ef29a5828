/**
 * The check of a standing lease, before anything else of a run that began under it happens.
 *
 * Invariant: a run begins only if the committed row of its agent shows the lease. The row that
 * pauses or retires the agent, or changes its settings, does not show it any more, so no run begins
 * under it once that row is committed.
 */
import { parseAddress } from '../../../protocols/address.ts';
import type { AgentRow } from '../../../protocols/agent.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { EffectContext } from '../../../runtime/index.ts';
import { LEASE_REVOKED, type StandingLease } from '../effect-types.ts';

/** @throws TroupeError CONFLICT, details.reason LEASE_REVOKED; UNAVAILABLE when it is unknown */
export async function checkLease(
  { agent, id }: StandingLease,
  context: Pick<EffectContext, 'row'>,
): Promise<void> {
  const row = await context.row<AgentRow>(agent, 'agents', parseAddress(agent).key);
  if (row?.standing === id) return;
  const message = `the standing lease of ${agent} was revoked: the run needs an admission`;
  throw new TroupeError('CONFLICT', message, { details: { reason: LEASE_REVOKED } });
}
