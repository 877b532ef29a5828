/**
 * Before the load: one request of each workload must succeed, so that a wrong token or a missing
 * action is reported in a sentence, and not as thousands of errors.
 */
import { TroupeError } from '../protocols/errors.ts';
import { errorCodeOf } from './error-code.ts';
import type { Send } from './step.ts';

/**
 * @throws TroupeError with the code of the failure; DEADLINE_EXCEEDED after `timeoutMs`; CANCELLED
 *   by `signal`
 */
export async function preflight(
  workloads: ReadonlyMap<string, Send>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (const [name, send] of workloads) {
    const late = AbortSignal.timeout(timeoutMs);
    const either = AbortSignal.any([late, signal]);
    try {
      await send({ signal: either, sent: () => {} });
    } catch (error) {
      signal.throwIfAborted();
      throw late.aborted ? tooLate(name, timeoutMs) : refused(name, error);
    }
  }
}

const tooLate = (name: string, timeoutMs: number) =>
  new TroupeError(
    'DEADLINE_EXCEEDED',
    `the first request of the workload ${name} had no result within ${timeoutMs / 1_000} s: no load was sent`,
  );

function refused(name: string, error: unknown): TroupeError {
  const message = `the first request of the workload ${name} failed (${errorCodeOf(error)}), so no load was sent: ${(error as Error).message}`;
  return error instanceof TroupeError
    ? new TroupeError(error.code, message, { details: error.details, cause: error })
    : new TroupeError('UNAVAILABLE', message, { cause: error });
}
