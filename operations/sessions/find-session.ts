/** Finds the committed row of the session that a client names. */
import { TroupeError } from '../../protocols/errors.ts';
import type { SessionRow } from '../../protocols/session.ts';
import type { System } from '../../runtime/index.ts';
import { type AgentNames, fullSessionKey, refuseOtherAgent } from './session-key.ts';

/** The rows of one tenant, and its agents, which complete short session keys. */
export type SessionRows = {
  readonly system: Pick<System, 'index'>;
  readonly tenant: string;
  readonly names: AgentNames;
};

/**
 * As `fullSessionKey`. A session that exists keeps its key, in the case in which it was created.
 * @throws TroupeError as `fullSessionKey`
 */
export const keyNamed = (
  { system, tenant, names }: SessionRows,
  given: Parameters<typeof fullSessionKey>[1],
): ReturnType<typeof fullSessionKey> =>
  fullSessionKey(
    names,
    given,
    (key) => system.index.get<SessionRow>('sessions', tenant, key) !== undefined,
  );

/**
 * Returns undefined when the session has no messages. The agent of an existing session may be
 * missing from the configuration, as for subagents.
 * @throws TroupeError INVALID_ARGUMENT for an invalid key, or a session of another agent than
 *   `agentId`
 */
export const sessionRow = (
  scope: SessionRows,
  key: string,
  agentId?: string,
): SessionRow | undefined => {
  const rowOf = (fullKey: string) =>
    scope.system.index.get<SessionRow>('sessions', scope.tenant, fullKey);
  // no row has such a key, and the store refuses to look for it
  const row = /\p{Surrogate}/u.test(key) ? undefined : rowOf(key);
  if (row === undefined) return rowOf(keyNamed(scope, { sessionKey: key, agentId }).sessionKey);
  refuseOtherAgent(row.agentId, agentId);
  return row;
};

/**
 * The session that a client names. Its agent may be missing from the configuration.
 * @throws TroupeError as `sessionRow`
 */
export const sessionNamed = (
  scope: SessionRows,
  params: { readonly sessionKey: string; readonly agentId?: string },
): { readonly sessionKey: string; readonly agentId: string } =>
  sessionRow(scope, params.sessionKey, params.agentId) ?? keyNamed(scope, params);

/** @throws TroupeError CONFLICT when the session has another id than a client expects */
export const refuseStale = (
  scope: SessionRows,
  key: string,
  expected: string | undefined,
): void => {
  if (expected === undefined) return;
  const sessionId = sessionRow(scope, key)?.sessionId;
  if (expected === sessionId) return;
  const now = sessionId === undefined ? 'it does not exist' : `its id is now ${sessionId}`;
  throw new TroupeError('CONFLICT', `the session ${key} was reset in the meantime: ${now}`);
};
