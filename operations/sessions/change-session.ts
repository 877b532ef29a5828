/**
 * Resets, compacts and deletes sessions: sends the request to the session actor, and notifies all
 * gateways of the tenant of the change.
 */
import { address } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type {
  CompactionDone,
  SessionClose,
  SessionCompact,
  SessionReset,
  SessionRow,
} from '../../protocols/session.ts';
import {
  type SessionInject,
  type SessionNotice,
  sessionNoticesTopic,
  type SessionSet,
} from '../../protocols/session-settings.ts';
import type { SessionFork } from '../../protocols/session-fork.ts';
import type { SessionImport } from '../../protocols/session-import.ts';
import { askOrThrow, type Principal, type System } from '../../runtime/index.ts';
import { keyNamed, sessionNamed, type SessionRows } from './find-session.ts';
import { mainSessionKey } from './session-key.ts';

/** How long a request waits for the session's answer. */
const ANSWER_MS = 30_000;
/** The same for a compaction, which calls a model. */
const COMPACT_MS = 300_000;

type AskingScope = {
  readonly system: Pick<System, 'ask'>;
  readonly tenant: string;
  readonly principal: Principal;
};
export type ChangingScope = SessionRows &
  AskingScope & { readonly system: Pick<System, 'index' | 'ask' | 'bus'> };

/** The session that a request names; a key or a short key. */
export type NamedSession = { readonly key: string; readonly agentId?: string };

/** @throws TroupeError NOT_FOUND */
export async function resetSession(
  scope: ChangingScope,
  params: NamedSession & { readonly reason?: string },
): Promise<{ readonly key: string; readonly entry: { readonly sessionId: string } }> {
  const key = existingKey(scope, params);
  const { reason = 'reset' } = params;
  const message: SessionReset = { type: 'session.reset', reason };
  const entry = await askSession<{ sessionId: string }>(scope, key, message);
  notify(scope, key, 'reset');
  return { key, entry };
}

/** @throws TroupeError NOT_FOUND; CONFLICT while a run is open */
export async function compactSession(
  scope: ChangingScope,
  params: NamedSession & { readonly instructions?: string },
): Promise<CompactionDone & { readonly key: string }> {
  const key = existingKey(scope, params);
  const message: SessionCompact = {
    type: 'session.compact',
    ...defined({ instructions: params.instructions }),
  };
  const done = await askSession<CompactionDone>(scope, key, message, { timeoutMs: COMPACT_MS });
  const { compacted, tokensBefore, tokensAfter } = done;
  if (compacted) notify(scope, key, 'compact');
  return { key, compacted, tokensBefore, tokensAfter };
}

/**
 * The transcript is kept. `deleted`: false when there is no such session.
 * @throws TroupeError INVALID_ARGUMENT for a main session; CONFLICT when the session has another id
 */
export async function deleteSession(
  scope: ChangingScope,
  params: NamedSession & Pick<SessionClose, 'orphans'> & { readonly expectedSessionId?: string },
): Promise<{ readonly key: string; readonly deleted: boolean }> {
  const { names, system, tenant } = scope;
  const { sessionKey: key, agentId } = sessionNamed(scope, nameOf(params));
  if (key === mainSessionKey(names, agentId)) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${key} is the main session of ${agentId}, which cannot be deleted: reset it instead`,
    );
  }
  const row = system.index.get<SessionRow>('sessions', tenant, key);
  // Sending a message would create the session.
  if (!row) return { key, deleted: false };
  const { expectedSessionId, orphans } = params;
  if (expectedSessionId !== undefined && expectedSessionId !== row.sessionId) {
    throw new TroupeError(
      'CONFLICT',
      `the session ${key} was reset in the meantime: its id is now ${row.sessionId}`,
    );
  }
  const message: SessionClose = { type: 'session.close', ...defined({ orphans }) };
  await askSession(scope, key, message);
  notify(scope, key, 'delete');
  return { key, deleted: true };
}

/** @throws TroupeError with which the session refuses; DEADLINE_EXCEEDED */
export async function askSession<Result>(
  { system, tenant, principal }: AskingScope,
  sessionKey: string,
  message:
    | SessionReset
    | SessionCompact
    | SessionSet
    | SessionInject
    | SessionClose
    | SessionFork
    | SessionImport,
  { timeoutMs = ANSWER_MS, key }: { readonly timeoutMs?: number; readonly key?: string } = {},
): Promise<Result> {
  return askOrThrow<Result>(system, address(tenant, 'session', sessionKey), message, {
    principal,
    timeoutMs,
    ...defined({ key }),
    timedOut: 'the session stored the request, but has not answered yet: it will still execute it',
  });
}

const nameOf = ({ key, agentId }: NamedSession) => ({
  sessionKey: key,
  ...defined({ agentId }),
});

/** @throws TroupeError NOT_FOUND, because a message would create the session */
function existingKey(scope: SessionRows, named: NamedSession): string {
  const { system, tenant } = scope;
  const { sessionKey } = keyNamed(scope, nameOf(named));
  if (system.index.get<SessionRow>('sessions', tenant, sessionKey)) return sessionKey;
  throw new TroupeError('NOT_FOUND', `the session ${sessionKey} has no messages yet`);
}

/** Notifies all gateways of the tenant. */
export const notify = (
  { system, tenant }: ChangingScope,
  sessionKey: string,
  reason: string,
): void => {
  system.bus.publish(sessionNoticesTopic(tenant), { sessionKey, reason } satisfies SessionNotice);
};
