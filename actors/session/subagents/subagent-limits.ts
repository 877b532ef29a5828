/**
 * Terms: what a subagent's session lives by instead of its agent's settings: who admits
 * its runs, what its parent granted, whose files it works on. Pure.
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

/** The subagent whose session this key is; undefined: of none. */
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
  return context.isOver && meta.from !== undefined ? isOver(context) : undefined;
});
export const mayAccept = on('session.receive', (at): boolean => refusalReason(at) === undefined);

const WRONG_TERMS: ErrorData = {
  code: 'INVALID_ARGUMENT',
  message: 'terms are taken with the first message only, from the subagent whose session it is',
};
const noSubagent = ({ sessionKey }: SessionContext): ErrorData => ({
  code: 'NOT_FOUND',
  message: `there is no session ${sessionKey}: only its subagent begins it, and it is gone when that has been forgotten; \`troupe subagents list --all\` shows them`,
});
const isOver = ({ sessionKey }: SessionContext): ErrorData => ({
  code: 'CONFLICT',
  message: `the subagent of ${sessionKey} has ended: its session can be read, and agents start another one for what is left to do`,
});

/**
 * The subagent actor that gave the session its limits, and receives the end of each of its runs.
 */
export const grantorOf = ({ tenant, sessionKey, terms }: SessionContext): Address | undefined => {
  const id = terms && subagentOf(sessionKey);
  return id === undefined ? undefined : subagentAddress(tenant, id);
};

/** The agent that admits the session's runs, and that they are released to. */
export const admitterOf = ({ tenant, agentId, terms }: SessionContext): Address =>
  address(tenant, 'agent', terms?.admitBy ?? agentId);

/**
 * Asks whether the run may start. A run that another agent caused uses no slot: that agent may be
 * waiting for it, for one that waits behind it, or for the subagent whose session this is.
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

/** With this message an agent begins to wait for the run that waits for a slot. */
export const hurriesRun = on('session.receive', ({ context, event }): boolean => {
  const message = event;
  return message.meta.from !== undefined && isOfAgent(message) && !isNested(context);
});

/** Whose files its tools work on; undefined: the agent's. */
export function workspaceOf({ tenant, sessionKey, terms }: SessionContext): Address | undefined {
  if (!terms) return undefined;
  const id = subagentOf(sessionKey);
  if (terms.isolated && id !== undefined) return subagentAddress(tenant, id);
  return terms.workspace ?? address(tenant, 'agent', agentOf(terms.parent));
}

/** The tools that a subagent was granted: it grants no others to the subagents that it starts. */
export function givenOf({ terms }: SessionContext): CallToolsInput['given'] {
  return terms && { allow: terms.sandbox.allow, deny: terms.sandbox.deny };
}

const agentOf = (sessionKey: string): string => {
  const parts = parseSessionKey(sessionKey);
  return 'agentId' in parts ? parts.agentId : 'main';
};

/** The settings as the grant narrows them: of two ceilings the smaller one holds. */
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
