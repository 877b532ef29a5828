/** Limits that end a run, and detection of identical calls with identical results. Pure. */
import { contentHashOf } from '../../../protocols/document.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { Usage } from '../../../protocols/session.ts';
import { heldBelow, tokensOf } from '../subagents/budget-ledger.ts';
import { type ActionArgs, runOf } from '../action-result.ts';
import { sum } from '../../../protocols/models/model-usage.ts';
import { TURNS_MAX } from '../subagents/subagent-limits.ts';
import type { PlannedCall } from '../../../agent/policy/planned-call.ts';
import type { Repeats, Run, SessionContext, ToolResult } from '../types.ts';

/** Identical calls in a row (`RunLimits.identicalCallsMax`); twice as many end the run. */
export const IDENTICAL_CALLS_MAX = 4;

/** Duration of a run if nothing else is set. */
const RUN_TIMEOUT_MS = 600_000;

/** The smallest of the limits that apply. */
export const runTimeoutMs = (context: SessionContext): number =>
  Math.min(
    runOf(context).timeoutMs ?? RUN_TIMEOUT_MS,
    context.settings?.timeoutMs ?? RUN_TIMEOUT_MS,
  );

/** When its time limit ends the run, epoch milliseconds. */
export function timeLimitOf(context: SessionContext): number {
  const { admittedAt, startedAt } = runOf(context);
  return (admittedAt ?? startedAt) + runTimeoutMs(context);
}

const limitsOf = ({ settings }: SessionContext) => settings?.limits ?? {};

/** The limit that prevents another model request, if any. */
export function ceilingOf(context: SessionContext): ErrorData | undefined {
  const { calls, usage } = runOf(context);
  const { turnsMax = TURNS_MAX, ...limits } = limitsOf(context);
  if (calls >= turnsMax)
    return reached('turnsMax', `the run called the model ${calls} times without a final answer`);
  if (exceeds(tokensOf(usage), limits.tokensPerRun))
    return reached('tokensPerRun', `the run has used ${tokensOf(usage)} tokens`);
  if (exceeds(usage.costUsd, limits.costPerRunUsd))
    return reached('costPerRunUsd', `the run has cost ${dollars(usage.costUsd)}`);
  const used = usedOf(context);
  if (exceeds(tokensOf(used), limits.tokensPerSession))
    return reached('tokensPerSession', `the session has used ${tokensOf(used)} tokens`);
  if (exceeds(used.costUsd, limits.costPerSessionUsd))
    return reached('costPerSessionUsd', `the session has cost ${dollars(used.costUsd)}`);
  return undefined;
}

/** The session's usage, plus what its subagents have reserved or used of its grant. */
const usedOf = (context: SessionContext): Usage => sum(context.usage, heldBelow(context));

export const isAtCeiling = ({ context }: ActionArgs): boolean => ceilingOf(context) !== undefined;

const exceeds = (used: number | undefined, limit: number | undefined): boolean =>
  limit !== undefined && used !== undefined && used >= limit;
const dollars = (usd = 0): string => `$${usd.toFixed(4)}`;
const reached = (limit: string, what: string): ErrorData => ({
  code: 'RATE_LIMIT_EXCEEDED',
  message: `${what}, which is its limit (${limit})`,
  details: { limit },
});

// ---- identical calls

/** 96 bits, so accidental collisions do not occur; it is stored instead of the text. */
export const digestOf = (...texts: readonly string[]): string =>
  contentHashOf(JSON.stringify(texts)).slice(0, 24);

const callDigest = ({ name, args }: PlannedCall): string =>
  digestOf(name, JSON.stringify(args) ?? '');

const identicalMax = (context: SessionContext): number =>
  Math.max(1, limitsOf(context).identicalCallsMax ?? IDENTICAL_CALLS_MAX);

const timesOf = ({ repeats }: Run, call: PlannedCall): number =>
  repeats?.call === callDigest(call) ? repeats.times : 0;

/**
 * Whether the call reached the limit of identical repeats: the model then gets a warning instead.
 */
export const isIdentical = (context: SessionContext, call: PlannedCall): boolean =>
  timesOf(runOf(context), call) >= identicalMax(context);

export const identicalText = (context: SessionContext, call: PlannedCall): string =>
  `Not run: the last ${timesOf(runOf(context), call)} calls of ${call.name} had the same arguments ` +
  'and the same result. Do something else, or answer with what you know.';

/** Whether the model ignored the warning, which ends the run. */
export const isRepeatingCalls = ({ context }: ActionArgs): boolean => {
  const [call] = runOf(context).planned;
  return call !== undefined && timesOf(runOf(context), call) >= 2 * identicalMax(context);
};

export const repeatingError = (context: SessionContext): ErrorData => {
  const call = runOf(context).planned[0]!;
  const times = timesOf(runOf(context), call);
  return reached('identicalCallsMax', `the run called ${call.name} ${times} times in the same way`);
};

/** The repeats after these calls had these results. */
export const countRepeats = (
  before: Repeats | undefined,
  calls: readonly PlannedCall[],
  results: readonly ToolResult[],
): Repeats | undefined => {
  let repeats = before;
  for (const planned of calls) {
    const found = results.find(({ callId }) => callId === planned.id);
    const [call, result] = [callDigest(planned), digestOf(found?.result ?? '')];
    const isSame = repeats?.call === call && repeats.result === result;
    repeats = { call, result, times: isSame ? repeats!.times + 1 : 1 };
  }
  return repeats;
};

/** A call that was answered by a warning counts like those before it. */
export const countRefusals = (repeats: Repeats | undefined): Repeats | undefined =>
  repeats && { ...repeats, times: repeats.times + 1 };
