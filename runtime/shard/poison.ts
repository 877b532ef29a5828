/**
 * Poison: an input that ended the process too often is completed without running its machine (K2):
 * it becomes a dead letter, the sender receives an error, and the actor crashes for its supervisor.
 * It is deduplicated and settles what it closes, as any other input.
 */
import type { ErrorData } from '../../protocols/errors.ts';
import { deadLetter, end, tellSender } from './context.ts';
import { crash } from './crash.ts';
import type { Carrier } from './inputs.ts';
import { findReadable } from './activated-actors.ts';

/** Carries an input out as poison that has killed the process `tries` times. */
export function asPoison(tries: number): Carrier {
  const error: ErrorData = {
    code: 'INTERNAL',
    message: `the process died ${tries} times while it handled this input`,
  };
  return {
    message(t, item, input) {
      const resident = findReadable(t, item.to);
      if (resident) return crash(t, resident, item.event, item, error, input, true);
      deadLetter(t, item, 'POISON', error);
      tellSender(t, item, error);
      const { message: why } = error;
      end(t, { input, actor: item.to, machine: '', result: 'poison', why });
    },
    stashed: (t, resident, item, input) => crash(t, resident, item.event, item, error, input, true),
    cause: (t, resident, { event }, input) =>
      crash(t, resident, event, undefined, error, input, true),
  };
}
