/** The committed row of the session that a client names. */
import { TroupeError } from '../../../protocols/errors.ts';
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

/** @throws TroupeError CONFLICT when the session has another id than a client expects */
export const refuseStale = (door: Door, key: string, expected: string | undefined): void => {
  const sessionId = sessionRow(door, key)?.sessionId;
  if (expected === undefined || expected === sessionId) return;
  const now = sessionId === undefined ? 'it does not exist' : `its id is ${sessionId} now`;
  throw new TroupeError('CONFLICT', `the session ${key} has begun anew since: ${now}`);
};
