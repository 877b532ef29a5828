/**
 * Checks the standing lease of a run in the run's first effect, before anything else happens.
 *
 * Invariant: a run starts only if the committed row of its agent shows the lease. Pausing or
 * retiring the agent, or changing its settings, removes the lease from the row, so no run starts
 * under it after that commit.
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
