/**
 * Asks shared by the tools with which agents reach each other: one id per call, one answer per call
 * however long it takes, and results as JSON.
 *
 * Invariant: each request uses the call's key. A call that is repeated after a crash waits for the
 * answer to its first attempt and starts nothing.
 */
import { createHash } from 'node:crypto';
import type { Address } from '../../../protocols/address.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Message } from '../../../protocols/statechart.ts';
import type { AskAnswer } from '../../../runtime/index.ts';
import type { Talker } from '../../policy/talk.ts';
import type { ToolContext, ToolResult } from '../tool.ts';

/** Timeout of one ask, milliseconds; after it the same ask is sent again under the same key. */
const ASK_MS = 30_000;

/**
 * Id of what the call starts: a UUID (RFC 9562, version 8), the same for every attempt of one call.
 */
export function idOfCall({ idempotencyKey }: Pick<ToolContext, 'idempotencyKey'>): string {
  const hash = createHash('sha256').update(`agents ${idempotencyKey}`).digest();
  hash[6] = (hash[6]! & 0x0f) | 0x80;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  const hex = hash.toString('hex', 0, 16);
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...groups, hex.slice(20)].join('-');
}

/**
 * Waits for the answer until the call's own time limit.
 *
 * @throws TroupeError CANCELLED when the call is aborted
 */
export async function answerOf(
  { system, idempotencyKey, signal }: ToolContext,
  to: Address,
  event: Message,
): Promise<Exclude<AskAnswer, { kind: 'timeout' }>> {
  for (;;) {
    const asked = system.ask(to, event, { key: idempotencyKey, timeoutMs: ASK_MS });
    const answer = await unlessAborted(signal, asked);
    if (answer.kind !== 'timeout') return answer;
  }
}

const unlessAborted = <Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> =>
  new Promise((resolve, reject) => {
    const giveUp = () => reject(new TroupeError('CANCELLED', 'the call was aborted'));
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });

/** The caller in the form of the policy. */
export const talkerOf = ({ agentId, sessionKey, confinement }: ToolContext): Talker => ({
  agentId,
  sessionKey,
  sandboxed: confinement.sandboxed,
});

/** A failed action is an error result for the model; the run counts repeated failures. */
export const said = (value: object, isError = false): ToolResult => ({
  text: JSON.stringify(value),
  ...(isError ? { isError } : {}),
});
