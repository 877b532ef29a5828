/** The model of a session when a request names none. */
import type { SessionRow } from '../../../protocols/session.ts';
import type { SessionScope } from '../tenant/tenant-scope.ts';
import { agentOf } from './session-key.ts';

/**
 * The session's own model, else its agent's. For a subagent without configuration, the model that
 * answered last; '' if none has.
 * @param isCleared ignore the session's own model
 */
export const modelNow = (
  { system, tenant, names }: SessionScope,
  sessionKey: string,
  isCleared = false,
): string => {
  const row = system.index.get<SessionRow>('sessions', tenant, sessionKey);
  if (row?.ownModel !== undefined && !isCleared) return row.ownModel;
  const agentId = row?.agentId ?? agentOf(sessionKey);
  return names.agents.find(({ id }) => id === agentId)?.model ?? row?.model ?? '';
};
