/**
 * Poison: an input that ended the process too often is completed without running its machine (K2):
 * it becomes a dead letter, the sender receives an error, and the actor crashes for its supervisor.
 * It is deduplicated and settles what it closes, as any other input.
 */
import type { ErrorData } from '../../../protocols/errors.ts';
import { deadLetter, tellSender } from '../turn/turn-context.ts';
import { crash } from '../turn/crash.ts';
import type { InputHandlers } from './input-handlers.ts';
import { findReadable } from '../turn/activated-actors.ts';

/** Ends an input as poison that has killed the process `tries` times. */
export function asPoison(tries: number): InputHandlers {
  const error: ErrorData = {
    code: 'INTERNAL',
    message: `the process died ${tries} times while it handled this input`,
  };
  return {
    message(t, item) {
      const resident = findReadable(t, item.to);
      if (resident) return crash(t, resident, item.event, item, error, true);
      deadLetter(t, item, 'POISON', error);
      tellSender(t, item, error);
      return { actor: item.to, machine: '', result: 'poison', why: error.message };
    },
    stashed: (t, resident, item) => crash(t, resident, item.event, item, error, true),
    cause: (t, resident, { event }) => crash(t, resident, event, undefined, error, true),
  };
}
