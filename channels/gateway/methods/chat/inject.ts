/** Adds a note to a session without starting a run: `wake` and `send` use it. */
import type { TenantScope } from '../../tenant/tenant-scope.ts';
import { address } from '../../../../protocols/address.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import {
  INJECTED_CHARACTERS_MAX,
  type SessionInject,
  type SessionNotice,
  sessionNoticesTopic,
} from '../../../../protocols/session-settings.ts';
import { ACCEPT_TIMEOUT_MS } from '../../limits.ts';
import { principalOf, type Request } from '../request.ts';
import { askOrThrow } from '../../../../runtime/index.ts';

/**
 * Adds the note once per key, also after a restart.
 * @throws TroupeError INVALID_ARGUMENT for a text that is too long; CONFLICT during a run;
 *   DEADLINE_EXCEEDED
 */
export const injectOnce = async (
  request: Request<TenantScope>,
  sessionKey: string,
  key: string,
  note: Omit<SessionInject, 'type'>,
): Promise<void> => {
  const { system, tenant } = request.context;
  if (note.text.length > INJECTED_CHARACTERS_MAX) {
    const most = `at most ${INJECTED_CHARACTERS_MAX} are allowed`;
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `the text has ${note.text.length} characters: ${most}`,
    );
  }
  const message: SessionInject = { type: 'session.inject', ...note };
  await askOrThrow(system, address(tenant, 'session', sessionKey), message, {
    principal: principalOf(request),
    key,
    timeoutMs: ACCEPT_TIMEOUT_MS,
    timedOut: `the session ${sessionKey} has stored it, but has not answered yet: repeat the request with the same idempotencyKey`,
  });
  const notice: SessionNotice = { sessionKey, reason: 'inject' };
  system.bus.publish(sessionNoticesTopic(tenant), notice);
};
