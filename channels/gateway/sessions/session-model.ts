/** The row of a session, and its model when a request names none. */
import { address } from '../../../protocols/address.ts';
import type { SessionRow } from '../../../protocols/session.ts';
import type { SessionScope, TenantScope } from '../tenant/tenant-scope.ts';
import { agentOf } from '../../../operations/sessions/session-key.ts';

/** The row of a session, which is in the session's shard. @throws TroupeError for no session key */
export const rowOfSession = (
  { system, tenant }: TenantScope,
  sessionKey: string,
): SessionRow | undefined =>
  system.index.get<SessionRow>(
    'sessions',
    tenant,
    sessionKey,
    address(tenant, 'session', sessionKey),
  );

/**
 * The session's own model, else its agent's. For a subagent without configuration, the model that
 * answered last; '' if none has.
 * @param isCleared ignore the session's own model
 */
export const modelNow = (scope: SessionScope, sessionKey: string, isCleared = false): string => {
  const row = rowOfSession(scope, sessionKey);
  if (row?.ownModel !== undefined && !isCleared) return row.ownModel;
  const agentId = row?.agentId ?? agentOf(sessionKey);
  return scope.names.agents.find(({ id }) => id === agentId)?.model ?? row?.model ?? '';
};
