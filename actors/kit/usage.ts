/** Usage: sums of what models used. Pure. */
import type { Usage } from '../../protocols/session.ts';

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };

export const sum = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  ...(a.costUsd === undefined && b.costUsd === undefined
    ? {}
    : { costUsd: (a.costUsd ?? 0) + (b.costUsd ?? 0) }),
});
