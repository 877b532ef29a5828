/** The committed row of the session that a client names. */
import type { SessionRow } from '../../../protocols/session.ts';
import type { Door } from '../door.ts';
import { fullSessionKey } from '../session-key.ts';

/**
 * undefined: nobody has written to it. One that is there may be of an agent that nobody configured:
 * of a subagent.
 * @throws TroupeError INVALID_ARGUMENT when the key names none that could be
 */
export const sessionRow = (
  { system, tenant, names }: Pick<Door, 'system' | 'tenant' | 'names'>,
  key: string,
  agentId?: string,
): SessionRow | undefined =>
  system.index.get<SessionRow>('sessions', tenant, key) ??
  system.index.get<SessionRow>(
    'sessions',
    tenant,
    fullSessionKey(names, { sessionKey: key, agentId }).sessionKey,
  );
