/**
 * Limits of a subagent's session, which override its agent's settings: the actor that admits its
 * runs, the grant of its parent, and the workspace of its tools. Pure.
 */
import { address, type Address } from '../../../protocols/address.ts';
import type { AgentAdmit, AgentSettings, RunLimits } from '../../../protocols/agent.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { SessionReceive } from '../../../protocols/session.ts';
import { parseSessionKey } from '../../../protocols/session-key.ts';
import type { Tell } from '../../../protocols/statechart.ts';
import { subagentAddress, type SubagentTerms } from '../../../protocols/subagent.ts';
import { on, runOf } from '../action-result.ts';
import type { CallToolsInput, SessionContext } from '../types.ts';

/** Model calls of one run (`RunLimits.turnsMax`). */
export const TURNS_MAX = 64;

/** The id of the subagent with this session key; undefined for any other session. */
export function subagentOf(sessionKey: string): string | undefined {
  try {
    const parts = parseSessionKey(sessionKey);
    return parts.type === 'subagent' ? parts.id : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Why a message may not start or join a run here. Limits come with the very first message, from the
 * subagent whose session this is. So no other sender can start such a session, before its subagent
 * does or after it was deleted: it would have no grant. Messages of agents after the subagent's end
 * are refused: its grant has returned and would be used twice.
 */
export const refusalReason = on('session.receive', ({ context, event }): ErrorData | undefined => {
  const { terms, meta } = event;
  const id = subagentOf(context.sessionKey);
  if (terms) {
    const isFromGrantor = id !== undefined && meta.from === subagentAddress(context.tenant, id);
    return isFromGrantor && !context.terms ? undefined : WRONG_TERMS;
  }
  if (id !== undefined && !context.terms) return noSubagent(context);
  return context.isOver && meta.from !== undefined ? sessionHasEnded(context) : undefined;
});
export const mayAccept = on('session.receive', (at): boolean => refusalReason(at) === undefined);

const WRONG_TERMS: ErrorData = {
  code: 'INVALID_ARGUMENT',
  message: '`terms` is accepted only in the first message of a session, and only from its subagent',
};
const noSubagent = ({ sessionKey }: SessionContext): ErrorData => ({
  code: 'NOT_FOUND',
  message: `there is no session ${sessionKey}: only its subagent can start it, and it is removed together with the subagent; \`troupe subagents list --all\` shows existing ones`,
});
const sessionHasEnded = ({ sessionKey }: SessionContext): ErrorData => ({
  code: 'CONFLICT',
  message: `the subagent of ${sessionKey} has ended: its session can only be read; start another subagent for further work`,
});

/**
 * The subagent actor that gave the session its limits, and receives the end of each of its runs.
 */
export const grantorOf = ({ tenant, sessionKey, terms }: SessionContext): Address | undefined => {
  const id = terms && subagentOf(sessionKey);
  return id === undefined ? undefined : subagentAddress(tenant, id);
};

/** The agent that admits the session's runs and to which their slots return. */
export const admitterOf = ({ tenant, agentId, terms }: SessionContext): Address =>
  address(tenant, 'agent', terms?.admitBy ?? agentId);

/**
 * Requests the admission of the run. A run that another agent caused uses no slot, because that
 * agent may hold a slot while it waits for this run, directly or through other runs.
 */
export const admissionOf = (context: SessionContext): Tell => {
  const { runId } = runOf(context);
  const nested = isNested(context) ? { nested: true as const } : {};
  const event: AgentAdmit = { type: 'agent.admit', runId, ...nested };
  return { to: admitterOf(context), event };
};

const isNested = ({ run, queue, terms }: SessionContext): boolean =>
  terms !== undefined || [run, ...queue].some((one) => isOfAgent(one ?? {}));

const isOfAgent = ({ lineage, origin }: Pick<SessionReceive, 'lineage' | 'origin'>): boolean =>
  lineage !== undefined || origin !== undefined;

/** Whether the message makes another agent wait for the run, which itself waits for a slot. */
export const agentWaitsForRun = on('session.receive', ({ context, event }): boolean => {
  const message = event;
  return message.meta.from !== undefined && isOfAgent(message) && !isNested(context);
});

/** The actor whose workspace the tools use; undefined: the agent. */
export function workspaceOf({ tenant, sessionKey, terms }: SessionContext): Address | undefined {
  if (!terms) return undefined;
  const id = subagentOf(sessionKey);
  if (terms.isolated && id !== undefined) return subagentAddress(tenant, id);
  return terms.workspace ?? address(tenant, 'agent', agentOf(terms.parent));
}

/** The tools that a subagent was granted: it grants no others to the subagents that it starts. */
export function grantedToolsOf({ terms }: SessionContext): CallToolsInput['given'] {
  return terms && { allow: terms.sandbox.allow, deny: terms.sandbox.deny };
}

const agentOf = (sessionKey: string): string => {
  const parts = parseSessionKey(sessionKey);
  return 'agentId' in parts ? parts.agentId : 'main';
};

/** The settings within the grant: the smaller of two limits applies. */
export function underTerms(settings: AgentSettings, terms: SubagentTerms): AgentSettings {
  const { agentId, model, thinking, purpose, sandbox, timeoutMs } = terms;
  return {
    ...settings,
    agentId,
    ...(model === undefined ? {} : { model }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(purpose === undefined ? {} : { purpose }),
    sandbox,
    timeoutMs: Math.min(settings.timeoutMs, timeoutMs),
    limits: narrowed(settings.limits, terms),
  };
}

function narrowed(limits: RunLimits = {}, { turnsMax, tokens, costUsd }: SubagentTerms): RunLimits {
  const cost = smaller(limits.costPerSessionUsd, costUsd);
  return {
    ...limits,
    turnsMax: Math.min(limits.turnsMax ?? TURNS_MAX, turnsMax),
    tokensPerSession: Math.min(limits.tokensPerSession ?? Infinity, tokens),
    ...(cost === undefined ? {} : { costPerSessionUsd: cost }),
  };
}

const smaller = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
