/**
 * Resolves the session that a client names: by a full key, a short key, or the agent's main
 * session.
 */
import { TroupeError } from '../../protocols/errors.ts';
import { inCaseHere, keyAsWritten, keyOfOpenClaw } from '../../protocols/openclaw-key.ts';
import { parseSessionKey, sessionKey as keys } from '../../protocols/session-key.ts';

export type AgentNames = {
  readonly defaultAgentId: string;
  readonly mainKey: string;
  readonly agents: readonly NamedAgent[];
};

export type NamedAgent = {
  readonly id: string;
  /** `provider/model` */
  readonly model: string;
  readonly fallbacks?: readonly string[];
  readonly thinking?: string;
  readonly workspace?: string;
  readonly name?: string;
  readonly emoji?: string;
  readonly avatar?: string;
};

export const mainSessionKey = ({ mainKey }: AgentNames, agentId: string): string =>
  keys.main(agentId, mainKey);

/** The agent in a full key; undefined for other keys. */
export const agentOf = (sessionKey: string): string | undefined => {
  const parts = parseSessionKey(sessionKey);
  return parts.type === 'other' ? undefined : parts.agentId;
};

/** @throws TroupeError INVALID_ARGUMENT when `agentId` is not the agent of the session */
export const refuseOtherAgent = (ofSession: string, agentId: string | undefined): void => {
  if (agentId === undefined || agentId === ofSession) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `the session key is of agent "${ofSession}", but agentId is "${agentId.slice(0, 80)}": leave one of them out`,
  );
};

/** A key as OpenClaw writes it names the session of the same conversation. */
function canonical(key: string, isKept: (key: string) => boolean): string {
  if (!key.startsWith('agent:')) return key;
  const parts = parseSessionKey(key);
  const written = parts.type === 'other' ? keyAsWritten(key) : key;
  if (written !== undefined && isKept(written)) return written;
  return parts.type === 'other' ? (keyOfOpenClaw(key) ?? key) : inCaseHere(parts);
}

/**
 * The full key. `main` is the main session; another short key `k` is the session
 * `agent:<agentId>:k`.
 * @param isKept whether a key stays in the case in which it is written; default: none does
 * @throws TroupeError INVALID_ARGUMENT for an unknown agent, an invalid key, or a key of another
 *   agent
 */
export const fullSessionKey = (
  names: AgentNames,
  given: { readonly sessionKey?: string | undefined; readonly agentId?: string | undefined },
  isKept: (key: string) => boolean = () => false,
): { readonly sessionKey: string; readonly agentId: string } => {
  const key = canonical(given.sessionKey?.trim() ?? '', isKept);
  const inKey = agentOf(key);
  if (inKey === undefined && key.startsWith('agent:')) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `"${key.slice(0, 80)}" is not a session key: write agent:<agentId>:<name>`,
    );
  }
  const agentId = given.agentId?.toLowerCase() ?? inKey ?? names.defaultAgentId;
  if (!names.agents.some((agent) => agent.id === agentId)) {
    throw new TroupeError('INVALID_ARGUMENT', `unknown agent id "${agentId.slice(0, 80)}"`, {
      details: { code: 'UNKNOWN_AGENT_ID' },
    });
  }
  if (inKey !== undefined) refuseOtherAgent(inKey, agentId);
  if (key === '' || key === 'main') return { sessionKey: mainSessionKey(names, agentId), agentId };
  return { sessionKey: inKey === undefined ? keys.main(agentId, key) : key, agentId };
};
