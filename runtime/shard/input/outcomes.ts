/** Outcomes of effects: deduplicated by their open intent (E4), or they reopen it (G5, G8). */
import type { Meta } from '../../../protocols/statechart.ts';
import { failed, settled } from '../../statechart/host.ts';
import { UnreadableRow } from '../turn/activated-actors.ts';
import { intentId } from '../turn/requests.ts';
import { timeOf, type ActivatedActor, type TurnContext } from '../turn/turn-context.ts';
import { TABLE } from '../commit/fold.ts';
import type { Verdict } from '../commit/group.ts';
import type { InputHandlers } from './input-handlers.ts';
import {
  CANCELLED_BY_OPERATOR,
  decodeIntent,
  encodeIntent,
  type Intent,
  type IntentHead,
  intentHeadOf,
} from '../turn/intents.ts';
import type { Outcome, TurnResult } from '../commit/records.ts';
import type { OutcomeReport } from './outcome-queue.ts';

export function onOutcome(t: TurnContext, entry: OutcomeReport, by: InputHandlers): Verdict {
  const bytes = t.fold.get(TABLE.intent, entry.intent);
  const intent = bytes && intentHeadOf(bytes);
  const { outcome, attempt } = entry;
  t.source = { kind: 'outcome', id: entry.intent, attempt, outcome, ...(intent && { intent }) };
  const isOfAnyAttempt = outcome.kind === 'done' || isCancellation(outcome);
  if (!intent || (attempt !== intent.attempt && !isOfAnyAttempt))
    return { actor: '', machine: '', result: 'dropped', why: 'stale outcome' };
  if (outcome.kind === 'notStarted' || outcome.kind === 'again')
    return reopen(t, entry, outcome.kind, decodeIntent(bytes));
  let resident: ActivatedActor | undefined;
  try {
    resident = t.residents.find(intent.actor);
  } catch (error) {
    if (!(error instanceof UnreadableRow)) throw error;
    // The row stays: a worker with this version runs or reconciles the effect later.
    return verdictOn(intent, 'dropped', String(error));
  }
  t.draft.put(TABLE.intent, entry.intent, null);
  if (isCancellation(outcome)) t.draft.after.push({ kind: 'abort', intent: entry.intent });
  if (!resident || intentId(intent.actor, resident.actor.life, intent.key) !== entry.intent)
    return verdictOn(intent, 'dropped', 'of an earlier life');
  const meta: Meta = {
    id: entry.intent,
    ...timeOf(t.group),
    self: intent.actor,
    ...(intent.traceId ? { traceId: intent.traceId } : {}),
  };
  const cause =
    outcome.kind === 'done'
      ? settled(intent.job, intent.key, outcome.output, meta)
      : failed(intent.job, intent.key, outcome.error, meta);
  return by.cause(t, resident, cause);
}

/** The outcome comes from an operator, and the effect may still run. */
const isCancellation = (outcome: Outcome): boolean =>
  outcome.kind === 'failed' && outcome.error.details?.['reason'] === CANCELLED_BY_OPERATOR;

/**
 * Back to `open`: the effect certainly did not start (G8), or it was decided that it may run again
 * (G5).
 */
function reopen(
  t: TurnContext,
  { intent: id }: OutcomeReport,
  kind: 'notStarted' | 'again',
  intent: Intent,
): Verdict {
  if (kind === 'again' && intent.state !== 'unknown')
    return verdictOn(intent, 'dropped', `the effect is ${intent.state}, not unknown`);
  const open: Intent = { ...intent, state: 'open', attempt: intent.attempt + 1, epoch: 0 };
  t.draft.put(TABLE.intent, id, encodeIntent(open));
  t.draft.after.push({ kind: 'start', intent: id });
  return verdictOn(intent, 'applied', kind);
}

const verdictOn = ({ actor, machine }: IntentHead, result: TurnResult, why: string): Verdict => ({
  actor,
  machine,
  result,
  why,
});
