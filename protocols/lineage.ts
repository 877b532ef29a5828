/**
 * Lineage: what led to a run that no person asked for. It goes with every message between agents
 * and with every subagent, so that nothing that agents begin among themselves goes on for ever
 * (AA4).
 *
 * What a person, a client or a schedule says has no lineage: it begins a new one.
 */

export type Lineage = {
  /** messages between agents, spawns and reports on the way here, this one counted */
  readonly hops: number;
  /** sessions on the way here, the first one first; a message to one of them is refused */
  readonly visited: readonly string[];
  /** messages to other agents that may still come of this one, whoever sends them */
  readonly left: number;
};

/** Ceilings of what follows from one message of a person. */
export type LineageLimits = {
  /** `session.agentToAgent.maxHops`, default 16 */
  readonly hopsMax: number;
  /** `session.agentToAgent.maxMessages`, default 200 */
  readonly messagesMax: number;
};

/** Sessions in `visited`; the newest are kept. */
export const VISITED_MAX = 64;
