/** Token and cost usage of a call, a run, a session, or a tree of sessions. */

/** `costUsd` is set if the price of every model is known. */
export type Usage = { inputTokens: number; outputTokens: number; costUsd?: number };

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };

/** The cost is that of the calls with a known price. */
export const sum = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  ...(a.costUsd === undefined && b.costUsd === undefined
    ? {}
    : { costUsd: (a.costUsd ?? 0) + (b.costUsd ?? 0) }),
});
