/**
 * Errors of the WhatsApp Cloud API by their code: whether a message was accepted, and what an
 * operator can do. Pure.
 */
import { type Static, Type } from '@sinclair/typebox';
import type { ConnectOutput, SendOutcome } from '../../../protocols/channel.ts';
import type { ErrorCode } from '../../../protocols/errors.ts';
import { notSent, rateLimited, refused, unknownOutcome } from '../outcomes.ts';

export const SERVICE = 'WhatsApp';

/** `error` of an answer, or one of `errors` of a status. */
export const GraphError = Type.Object({
  code: Type.Optional(Type.Number()),
  message: Type.Optional(Type.String()),
  title: Type.Optional(Type.String()),
  error_data: Type.Optional(Type.Object({ details: Type.Optional(Type.String()) })),
});
export type GraphError = Static<typeof GraphError>;

/** Limits, and how long to wait when the answer does not say it, milliseconds. */
const WAIT_MS: ReadonlyMap<number, number> = new Map([
  [4, 60_000],
  [80007, 60_000],
  [130429, 1_000],
  [131056, 6_000],
]);
/** The service failed; it may have accepted the message. */
const UNCERTAIN = new Set([1, 2, 131000, 131016]);

type Remedy = { readonly code: ErrorCode; readonly what: string };
const TOKEN: Remedy = {
  code: 'UNAUTHORIZED',
  what:
    'the access token is wrong or has expired: create a permanent one for a system user with the ' +
    'right whatsapp_business_messaging, and set it as accessToken',
};
const REMEDIES: ReadonlyMap<number, Remedy> = new Map([
  [0, TOKEN],
  [190, TOKEN],
  [10, { code: 'FORBIDDEN', what: 'give the system user the right whatsapp_business_messaging' }],
  [
    131047,
    {
      code: 'FORBIDDEN',
      what:
        'more than 24 hours have passed since the last message of this person: WhatsApp permits ' +
        'only templates then. The reply can be sent again after the person writes',
    },
  ],
  [131026, { code: 'NOT_FOUND', what: 'the person has no WhatsApp, an old one, or blocked it' }],
  [131030, { code: 'FORBIDDEN', what: 'add the recipient to the list of the test number' }],
  [131031, { code: 'FORBIDDEN', what: 'Meta has locked the account: see Business Support Home' }],
  [131048, { code: 'FORBIDDEN', what: 'Meta limits this number after reports of spam' }],
  [368, { code: 'FORBIDDEN', what: 'Meta has blocked the account: see Business Support Home' }],
]);

/** @param waitMs from `Retry-After` @param status of the answer; 0 for a status webhook */
export function outcomeOfError(error: GraphError, status = 0, waitMs?: number): SendOutcome {
  const { code = -1 } = error;
  const wait = waitMs ?? WAIT_MS.get(code) ?? (status === 429 ? 60_000 : undefined);
  if (wait !== undefined && (status === 429 || WAIT_MS.has(code)))
    return notSent(rateLimited(SERVICE, wait));
  // A status webhook is proof that the message was not delivered.
  if (status >= 500 || UNCERTAIN.has(code))
    return status === 0
      ? notSent({ code: 'UNAVAILABLE', message: describe(error) })
      : unknownOutcome(`${SERVICE} answered ${status}: ${describe(error)}`);
  const refusal = status === 401 ? TOKEN : REMEDIES.get(code);
  return refused(refusal?.code ?? 'INVALID_ARGUMENT', describe(error, refusal));
}

/** Why the credentials were not accepted. */
export function endOfError(error: GraphError, status: number): ConnectOutput {
  const outcome = outcomeOfError(error, status);
  if (outcome.status === 'sent') throw new TypeError('an error is not an outcome');
  const isFinal = outcome.status === 'not_sent' && outcome.isFinal === true;
  return { error: outcome.error, isFinal };
}

function describe(error: GraphError, remedy?: Remedy): string {
  const { code, message, title, error_data } = error;
  const text = error_data?.details ?? message ?? title ?? 'without a reason';
  const reason = `WhatsApp refused it (${code ?? 'no code'}: ${text.slice(0, 200)})`;
  return remedy === undefined ? reason : `${reason}; ${remedy.what}`;
}
