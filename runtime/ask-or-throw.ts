/** Asks an actor where the caller reports failures as errors. */
import type { Address } from '../protocols/address.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Message } from '../protocols/statechart.ts';
import type { AskAnswer, System } from './system.ts';

type AskOptions = NonNullable<Parameters<System['ask']>[2]>;

/**
 * The reply of an actor.
 * @param timedOut text of the error after the timeout, when the message is stored but not answered
 * @throws TroupeError of the refusal; DEADLINE_EXCEEDED
 */
export async function askOrThrow<Result>(
  system: Pick<System, 'ask'>,
  to: Address,
  message: Message,
  { timedOut, ...options }: AskOptions & { readonly timedOut: string },
): Promise<Result> {
  return resultOf<Result>(await system.ask(to, message, options), timedOut);
}

/** The reply in an answer. @throws TroupeError as `askOrThrow` */
function resultOf<Result>(answer: AskAnswer, timedOut: string): Result {
  if (answer.kind === 'answered') return answer.result as Result;
  if (answer.kind === 'refused') throw TroupeError.from(answer.error);
  throw new TroupeError('DEADLINE_EXCEEDED', timedOut);
}
