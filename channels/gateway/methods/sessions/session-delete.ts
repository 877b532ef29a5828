/** `sessions.delete`: a session ends, leaves the lists and is gone (AA8: its subagents with it). */
import { defined } from '../../../../protocols/defined.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type { SessionsDeleteParams } from '../../../../protocols/gateway/index.ts';
import type { SessionClose, SessionRow } from '../../../../protocols/session.ts';
import { mainSessionKey } from '../../sessions/session-key.ts';
import { type MethodTable, published } from '../method.ts';
import type { Request } from '../request.ts';
import { sessionNamed } from './session-row.ts';
import { askSession, keyOf, type SessionSettingContext } from './session-settings.ts';

/** The transcript stays: whoever has its key reads it with `chat.history`. */
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
      `${key} is the main session of ${agentId}, which stays: reset it instead`,
    );
  }
  const row = system.index.get<SessionRow>('sessions', tenant, key);
  const gone = { ok: true, key, archived: [] };
  // A message would make the session.
  if (!row) return { ...gone, deleted: false };
  const { expectedSessionId, orphans } = params;
  if (expectedSessionId !== undefined && expectedSessionId !== row.sessionId) {
    throw new TroupeError(
      'CONFLICT',
      `the session ${key} has begun anew since: its id is ${row.sessionId} now`,
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
