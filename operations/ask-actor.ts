/** The one place where the answer of an actor becomes the result or the error of an operation. */
import type { Address } from '../protocols/address.ts';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Message } from '../protocols/statechart.ts';
import type { OperationContext } from './operation.ts';

const ANSWER_MS = 20_000;
const OPERATOR_ROLES = ['operator'] as const;

export type AskOptions = {
  /** the actor as error messages name it, as `conversation 7f3c` */
  readonly name: string;
  /** default `operator` */
  readonly roles?: readonly string[];
  /** idempotency key of the message */
  readonly key?: string | undefined;
};

/**
 * Sends a message on behalf of the caller and returns the actor's answer.
 * @throws TroupeError with which the actor refuses; DEADLINE_EXCEEDED after 20 s
 */
export async function askActor<T>(
  { system, caller }: Pick<OperationContext, 'system' | 'caller'>,
  to: Address,
  message: Message,
  { name, roles = OPERATOR_ROLES, key }: AskOptions,
): Promise<T> {
  const answer = await system.ask(to, message, {
    principal: { sub: caller.sub, roles: [...roles] },
    timeoutMs: ANSWER_MS,
    ...defined({ key }),
  });
  if (answer.kind === 'answered') return answer.result as T;
  if (answer.kind === 'refused') throw TroupeError.from(answer.error);
  throw new TroupeError('DEADLINE_EXCEEDED', `${name} did not answer; look at the list`);
}
