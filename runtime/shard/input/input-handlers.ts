/**
 * InputHandlers: what processes an input that is not a duplicate: its actor's machine, or its end
 * as poison (K2).
 */
import type { Cause } from '../../statechart/host.ts';
import type { Verdict } from '../commit/group.ts';
import type { OutItem } from '../commit/records.ts';
import { stashCause } from '../turn/stash.ts';
import { applyCause, applyMessage, onMessage } from '../turn/turn.ts';
import { type ActivatedActor, type TurnContext, verdict } from '../turn/turn-context.ts';

export type InputHandlers = {
  message(t: TurnContext, item: OutItem): Verdict;
  /** a message that waited in the actor's stash */
  stashed(t: TurnContext, resident: ActivatedActor, item: OutItem): Verdict;
  cause(t: TurnContext, resident: ActivatedActor, cause: Cause): Verdict;
};

export const byMachine: InputHandlers = {
  message: onMessage,
  stashed: applyMessage,
  cause: onCause,
};

/**
 * An outcome or a timer. An actor that is suspended or quarantined stashes it, because the actor
 * may be resumed and would wait for it forever; a stopped actor no longer needs it.
 */
function onCause(t: TurnContext, resident: ActivatedActor, cause: Cause): Verdict {
  const { job, timer, event } = cause;
  const { status } = resident.actor;
  if (status === 'active') return applyCause(t, resident, cause, undefined);
  const settles = { ...(job ? { job } : {}), ...(timer ? { timer } : {}) };
  if (status !== 'stopped') return stashCause(t, resident, settles, event);
  return verdict(resident, 'dropped', status);
}
