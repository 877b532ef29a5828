/**
 * Which session a client means (SE1): a full key, a short one, or none for the agent's main session.
 */
import { TroupeError } from '../../protocols/errors.ts';

export type AgentNames = {
  readonly defaultAgentId: string;
  readonly mainKey: string;
  readonly agents: readonly { readonly id: string; readonly model: string }[];
};

export const mainSessionKey = ({ mainKey }: AgentNames, agentId: string): string =>
  `agent:${agentId}:${mainKey}`;

/** The agent in a full key; undefined when the key is of another kind. */
export const agentOf = (sessionKey: string): string | undefined =>
  /^agent:([^:]+):./s.exec(sessionKey)?.[1];

/**
 * The full key. `main` and the main key's own name mean the main session; another short key `k` is
 * `agent:<agentId>:k`.
 * @throws TroupeError INVALID_ARGUMENT when nobody knows the agent, or key and agent disagree
 */
export const fullSessionKey = (
  names: AgentNames,
  given: { readonly sessionKey?: string | undefined; readonly agentId?: string | undefined },
): { readonly sessionKey: string; readonly agentId: string } => {
  const key = given.sessionKey?.trim() ?? '';
  const inKey = agentOf(key);
  const agentId = given.agentId ?? inKey ?? names.defaultAgentId;
  if (!names.agents.some((agent) => agent.id === agentId)) {
    throw new TroupeError('INVALID_ARGUMENT', `unknown agent id "${agentId.slice(0, 80)}"`, {
      details: { code: 'UNKNOWN_AGENT_ID' },
    });
  }
  if (inKey !== undefined && inKey !== agentId) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `the session key is of agent "${inKey}", but agentId is "${agentId}": leave one of them out`,
    );
  }
  if (key === '' || key === 'main') return { sessionKey: mainSessionKey(names, agentId), agentId };
  return { sessionKey: inKey === undefined ? `agent:${agentId}:${key}` : key, agentId };
};
