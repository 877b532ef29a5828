/**
 * `wake`: sends a system event to an agent, in its main session or a named one. `now`: the agent
 * replies at once, in the live run if there is one. `next-heartbeat`: agents have no heartbeat, so
 * the event is added to the session, and the next run reads it.
 */
import type { SessionScope } from '../../tenant/tenant-scope.ts';
import { randomUUID } from 'node:crypto';
import { TroupeError } from '../../../../protocols/errors.ts';
import type { WakeParams } from '../../../../protocols/gateway/index.ts';
import { parseSessionKey } from '../../../../protocols/session-key.ts';
import { keyNamed } from '../../../../operations/sessions/find-session.ts';
import { injectOnce } from './inject.ts';
import { type MethodTable, published } from '../method.ts';
import type { Request } from '../request.ts';
import { accept, type AcceptContext, refuseEmpty } from './run.ts';

/** What sending a system event to an agent needs. */
export type WakeContext = AcceptContext & SessionScope;

const SENDER = 'system event';

const wake = async (request: Request<WakeContext>, params: WakeParams) => {
  const { mode, text, idempotencyKey } = params;
  refuseEmpty(text);
  const { sessionKey } = keyNamed(request.context, params);
  if (parseSessionKey(sessionKey).type === 'subagent') {
    const why = 'a subagent accepts no system events: wake the session that started it';
    throw new TroupeError('INVALID_ARGUMENT', `/sessionKey: ${why}`);
  }
  const key = `wake-${idempotencyKey ?? randomUUID()}`;
  if (mode === 'next-heartbeat') {
    await injectOnce(request, sessionKey, key, { text, label: SENDER, role: 'user' });
    return { ok: true, sessionKey } as const;
  }
  const message = { runId: key, text, sender: SENDER, channel: 'cron' };
  const { runId } = await accept(request, sessionKey, message, request.context.runs.row(key));
  return { ok: true, runId, sessionKey } as const;
};

export const wakeTable: MethodTable<WakeContext> = [published('wake', wake)];
