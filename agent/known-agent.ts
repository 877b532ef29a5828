/** Which agents can be written to: those of the configuration, and those that were created. */
import type { AgentRow } from '../protocols/agent.ts';
import type { Index } from '../runtime/index.ts';
import type { TalkRules } from './policy/talk.ts';

type Configured = Pick<TalkRules, 'agents'>;

/** @param row its row in the index `agents` */
export const isKnown = (
  { agents }: Configured,
  agentId: string,
  row: AgentRow | undefined,
): boolean => Object.hasOwn(agents, agentId) || (row !== undefined && row.status !== 'retired');

/** Whether the agent is known to this tenant, unlike one that was created for a single task. */
export const isKnownAgent = (
  index: Index,
  agentId: string,
  { talk, tenant }: { readonly talk: Configured; readonly tenant: string },
): boolean => isKnown(talk, agentId, index.get<AgentRow>('agents', tenant, agentId));
