/** `sessions.delete`: ends a session and its subagents, and removes it from lists. */
import { defined } from '../../../../protocols/defined.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type { SessionsDeleteParams } from '../../../../protocols/gateway/index.ts';
import type { SessionClose, SessionRow } from '../../../../protocols/session.ts';
import { mainSessionKey } from '../../sessions/session-key.ts';
import { type MethodTable, published } from '../method.ts';
import type { Request } from '../request.ts';
import { sessionNamed } from './session-row.ts';
import { askSession, keyOf, type SessionSettingContext } from './session-settings.ts';

/** The transcript is kept: `chat.history` still reads it by the session key. */
const sessionsDelete = async (
  request: Request<SessionSettingContext>,
  params: SessionsDeleteParams,
) => {
  const { context } = request;
  const { names, system, tenant } = context;
  const { sessionKey: key, agentId } = sessionNamed(context, keyOf(params));
  if (key === mainSessionKey(names, agentId)) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${key} is the main session of ${agentId}, which cannot be deleted: reset it instead`,
    );
  }
  const row = system.index.get<SessionRow>('sessions', tenant, key);
  const gone = { ok: true, key, archived: [] };
  // Sending a message would create the session.
  if (!row) return { ...gone, deleted: false };
  const { expectedSessionId, orphans } = params;
  if (expectedSessionId !== undefined && expectedSessionId !== row.sessionId) {
    throw new TroupeError(
      'CONFLICT',
      `the session ${key} was reset in the meantime: its id is now ${row.sessionId}`,
    );
  }
  const message: SessionClose = {
    type: 'session.close',
    ...defined({ orphans }),
  };
  await askSession(request, key, message);
  request.context.watch.publishChange(key, 'delete');
  return { ...gone, deleted: true };
};

export const sessionDeleteTable: MethodTable<SessionSettingContext> = [
  published('sessions.delete', sessionsDelete),
];
