/** What model calls have used: of a call, a run, a session, or all below it. */

/** `costUsd` is there when the price of every model in it is known. */
export type Usage = { inputTokens: number; outputTokens: number; costUsd?: number };
