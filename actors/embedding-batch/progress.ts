/** Progress: the pure parts of the chart that decide and remember. */
import type {
  BatchLook,
  BatchStored,
  Released,
  Uploaded,
} from '../../protocols/embedding-batch.ts';
import type { ErrorCode, ErrorData } from '../../protocols/errors.ts';
import { NO_USAGE } from '../../protocols/models/model-usage.ts';
import type { ActorInput } from '../../protocols/statechart.ts';
import { pauseMsOf } from '../kit/backoff.ts';
import { errorOf } from '../kit/handlers.ts';
import { type Args, type BatchContext, on } from './types.ts';

type Change = Partial<BatchContext>;
type State = Pick<Args, 'context'>;

/** The provider has a day for a batch. After this time it is given up. */
export const PATIENCE_MS = 26 * 3_600_000;
const PAUSE_MS = { first: 5_000, max: 300_000 };

const nothing = {
  upload: null,
  batchId: null,
  cancel: 'none',
  files: [],
  stored: null,
  usage: NO_USAGE,
  outcome: null,
  error: null,
  problem: null,
  filesLeft: [],
  failures: 0,
  looks: 0,
  pauseMs: PAUSE_MS.first,
} as const satisfies Change;

export const initialContext = ({ key, tenant, now }: ActorInput): BatchContext => ({
  ...nothing,
  ticket: { tenant, agentId: key, ticket: '', startedAt: now },
});

export function begin({ context, event }: Args): Change {
  const { tenant, agentId } = context.ticket;
  const { id, now } = event.meta;
  // Several installations may use one account of the provider.
  const ticket = `${tenant}/${agentId}/${now}/${id}`;
  return { ...nothing, ticket: { tenant, agentId, ticket, startedAt: now } };
}

// ---- what the requests answered

export const noteUploaded = (_: Args, { upload }: { upload: Uploaded }): Change => ({
  ...succeeded,
  upload,
});
export const noteBatch = (_: Args, { batchId }: { batchId: string | null }): Change => ({
  ...succeeded,
  batchId,
});
export const noteCancelSent = (): Change => ({ ...succeeded, cancel: 'sent' });
export const noteStored = (_: Args, { stored, usage }: BatchStored): Change => ({
  ...succeeded,
  stored,
  usage,
});
export const noteReleased = (_: Args, { filesLeft }: Released): Change => ({ filesLeft });

/** Provider and batch are looked at less and less often. */
export const noteRunning = ({ context }: Args): Change => ({
  ...succeeded,
  looks: context.looks + 1,
  pauseMs: Math.min(PAUSE_MS.max, PAUSE_MS.first * 2 ** (context.looks + 1)),
});

const succeeded = { problem: null, failures: 0, pauseMs: PAUSE_MS.first } as const;

/** Never at once: the provider's list of batches may lack one that was just created. */
export function noteFailure({ context, event }: Args): Change {
  const [failures, error] = [context.failures + 1, errorOf(event)];
  const jittered = pauseMsOf(PAUSE_MS, failures, { seed: event.meta.id, error });
  return { failures, problem: error, pauseMs: PAUSE_MS.first + jittered };
}

// ---- its end

export const noteEnd = (_: Args, { status, files, why }: BatchLook): Change => {
  if (status === 'completed') return { ...succeeded, files, outcome: 'done' };
  if (status === 'cancelled') return { ...succeeded, files, outcome: 'cancelled' };
  const expired = status === 'expired';
  const message = expired
    ? 'the provider did not embed all texts within its time'
    : `the provider refused the batch: ${why ?? 'it gave no reason'}`;
  const code = expired ? 'DEADLINE_EXCEEDED' : 'INVALID_ARGUMENT';
  return { ...succeeded, files, outcome: 'failed', error: { code, message } };
};

export const finish = (): Change => ({ outcome: 'done' });
export const noteCancelled = (): Change => ({ outcome: 'cancelled' });
export const wantCancel = ({ context }: Args): Change => ({
  cancel: context.cancel === 'none' ? 'wanted' : context.cancel,
});
const failed = (error: ErrorData): Change => ({ outcome: 'failed', error });
export const noteFailed = ({ event }: Args): Change => failed(errorOf(event));
export const noteRefused = on(['agent.refused', 'refused'], ({ event }) => failed(event.error));
export const giveUp = (): Change =>
  failed({ code: 'DEADLINE_EXCEEDED', message: 'the batch did not end within 26 hours' });

// ---- guards

export const isOwn = on(
  ['agent.admitted', 'agent.refused'],
  ({ context, event }) => event.runId === context.ticket.ticket,
);
export const isAdmission = on('refused', ({ event }) => event.message === 'agent.admit');
export const wantsCancel = ({ context }: State): boolean => context.cancel === 'wanted';
export const isDone = ({ context }: State): boolean => context.outcome === 'done';
export const isCancelled = ({ context }: State): boolean => context.outcome === 'cancelled';

/** Before the batch exists: a repeat would fail in the same way. */
const REFUSALS: readonly ErrorCode[] = [
  'INVALID_ARGUMENT',
  'NOT_FOUND',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'PAYLOAD_TOO_LARGE',
  'CONFLICT',
];
export const isRefusal = ({ event }: Args): boolean => REFUSALS.includes(errorOf(event).code);
/** A batch is paid, so only its loss ends it: a wrong key may be corrected. */
export const isGone = ({ event }: Args): boolean => errorOf(event).code === 'NOT_FOUND';
