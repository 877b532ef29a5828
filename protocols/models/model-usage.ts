/** Token and cost usage of a call, a run, a session, or a tree of sessions. */

/** `costUsd` is set if the price of every model is known. */
export type Usage = { inputTokens: number; outputTokens: number; costUsd?: number };
