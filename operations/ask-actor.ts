/** Sends messages of operations to actors. */
import type { Address } from '../protocols/address.ts';
import { defined } from '../protocols/defined.ts';
import type { Lane, Message } from '../protocols/statechart.ts';
import { askOrThrow } from '../runtime/index.ts';
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
  /** default `data` */
  readonly lane?: Lane;
  /** default 20,000 */
  readonly timeoutMs?: number | undefined;
  /** text of DEADLINE_EXCEEDED; default `NAME did not answer; look at the list` */
  readonly timedOut?: string | undefined;
};

/**
 * Sends a message on behalf of the caller and returns the actor's answer.
 * @throws TroupeError with which the actor refuses; DEADLINE_EXCEEDED after the timeout
 */
export async function askActor<T>(
  {
    system,
    caller,
  }: Pick<OperationContext, 'caller'> & {
    readonly system: Pick<OperationContext['system'], 'ask'>;
  },
  to: Address,
  message: Message,
  { name, roles = OPERATOR_ROLES, key, lane, timeoutMs = ANSWER_MS, timedOut }: AskOptions,
): Promise<T> {
  return askOrThrow<T>(system, to, message, {
    principal: { sub: caller.sub, roles: [...roles] },
    timeoutMs,
    timedOut: timedOut ?? `${name} did not answer; look at the list`,
    ...defined({ key, lane }),
  });
}
