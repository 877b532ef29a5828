/**
 * Lineage: the origin of a run that was not requested by a user. Every message between agents and
 * every subagent carries it, so that activity among agents always ends.
 *
 * A message from a user, a client or a schedule has no lineage; it starts a new one.
 */

export type Lineage = {
  /** number of messages between agents, spawns and reports so far, including this one */
  readonly hops: number;
  /** sessions so far, the first one first; a message to one of them is refused */
  readonly visited: readonly string[];
  /** how many messages to other agents may still follow, from any session */
  readonly left: number;
};

/** Limits for the activity that follows from one message of a user. */
export type LineageLimits = {
  /** `session.agentToAgent.maxHops`, default 16 */
  readonly hopsMax: number;
  /** `session.agentToAgent.maxMessages`, default 200 */
  readonly messagesMax: number;
};

/** Maximum length of `visited`; the newest are kept. */
export const VISITED_MAX = 64;
