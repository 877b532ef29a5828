/**
 * Giving a session a message and waiting for what becomes of it: what `agent`, `agent.wait` and
 * `chat.send` have in common (AL1).
 */
import { address } from '../../../protocols/address.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { RunAccepted, SessionReceive } from '../../../protocols/session.ts';
import { OPERATOR } from '../door.ts';
import { ACCEPT_TIMEOUT_MS, RUN_ID_CHARACTERS_MAX } from '../limits.ts';
import type { RunEnd } from '../run-book.ts';
import type { Request } from './request.ts';

/**
 * Gives the message to the session. Resolves when it is durably accepted; repeated with the same
 * run id and message it gives the first answer, also after a restart.
 * @throws TroupeError CONFLICT when the run id is taken by another message; what the session
 * refused with
 */
export const accept = async (
  { door, traceId }: Request,
  sessionKey: string,
  message: Omit<SessionReceive, 'type'>,
): Promise<RunAccepted> => {
  const { runId } = message;
  if (runId.length > RUN_ID_CHARACTERS_MAX) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `the idempotencyKey has ${runId.length} characters, at most ${RUN_ID_CHARACTERS_MAX} are allowed`,
    );
  }
  const known = door.runs.row(runId);
  if (known && known.sessionKey !== sessionKey) {
    throw new TroupeError(
      'CONFLICT',
      'this idempotencyKey was used for a message to another session',
    );
  }
  const answer = await door.system.ask(
    address(door.tenant, 'session', sessionKey),
    { type: 'session.receive', ...message },
    {
      principal: OPERATOR,
      key: runId,
      timeoutMs: ACCEPT_TIMEOUT_MS,
      ...(traceId === undefined ? {} : { traceId }),
    },
  );
  if (answer.kind === 'refused') throw TroupeError.from(answer.error);
  if (answer.kind === 'timeout') {
    throw new TroupeError(
      'DEADLINE_EXCEEDED',
      'the message is stored, but its session has not answered yet: send it again with the same idempotencyKey',
    );
  }
  return answer.result as RunAccepted;
};

/**
 * The run's end; `gone` when its record went away before anybody saw the end, `given-up` when the
 * connection ended or the time was up. Giving up does not stop the run (AL9).
 */
export const endOf = (
  { door, connection }: Request,
  runId: string,
  timeoutMs?: number,
): Promise<RunEnd | 'gone' | 'given-up'> =>
  new Promise((resolve) => {
    const settle = (outcome: RunEnd | 'gone' | 'given-up') => {
      cancelTimer?.();
      stopWaiting?.();
      endLease();
      resolve(outcome);
    };
    let cancelTimer: (() => void) | undefined;
    let stopWaiting: (() => void) | undefined;
    const endLease = connection.lease(() => settle('given-up'));
    if (timeoutMs !== undefined)
      cancelTimer = door.clock.after(timeoutMs, () => settle('given-up'));
    stopWaiting = door.runs.wait(runId, (end) => settle(end ?? 'gone'));
  });

/** Neither is carried to the model yet, and leaving them out silently would be a lie. */
export const refuseAttachments = (attachments: readonly unknown[] | undefined): void => {
  if (attachments === undefined || attachments.length === 0) return;
  throw new TroupeError('INVALID_ARGUMENT', '/attachments are not supported yet: send text only');
};

export const refuseEmpty = (message: string): void => {
  if (message.trim() === '')
    throw new TroupeError('INVALID_ARGUMENT', '/message must not be empty');
};
