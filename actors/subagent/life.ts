/**
 * Life: the pure parts of the subagent's chart that decide and remember: what its session has said,
 * how it ends, how long each wait may last.
 */
import { type ErrorData, ERRORS } from '../../protocols/errors.ts';
import type { RunEnded } from '../../protocols/session.ts';
import type { ActorInput, Delivered } from '../../protocols/statechart.ts';
import { type SubagentOutcome, TASK_CHARACTERS_MAX } from '../../protocols/subagent.ts';
import { NO_USAGE, sum } from '../../protocols/models/model-usage.ts';
import { childAddress, parentAddress } from './places.ts';
import type { Args, Reserved, Stop, SubagentContext } from './types.ts';

/** For a place of its parent, milliseconds. */
export const PLACE_MS = 21_600_000;
/** For the end of a stopped run: without it only its usage stays unknown. */
export const STOP_MS = 30_000;
/** For the parent's word about the end. */
export const HEARD_MS = 21_600_000;
/** Wait before the end is sent again to a parent that could not process it. */
export const RETELL_MS = 60_000;
/** How long a row stays after the end, or until its session is closed. */
export const ROW_MS = 100_800_000;
/** Far more than the senders that report twice: a run with `notify` in a session with limits. */
const RUNS_KNOWN_MAX = 64;

type State = Pick<Args, 'context'>;

export const initialContext = ({ key, tenant, now }: ActorInput): SubagentContext => ({
  id: key,
  tenant,
  createdAt: now,
  reserved: null,
  parent: null,
  shownUnder: '',
  isNewHere: false,
  startedAt: null,
  isAccepted: false,
  text: '',
  counted: [],
  usage: NO_USAGE,
  below: { usage: NO_USAGE, spawned: 0 },
  steers: 0,
  stop: null,
  outcome: null,
  endedAt: null,
  reportedBy: null,
});

/** Only used in states after the first message. */
export const reservedOf = ({ reserved }: SubagentContext): Reserved => reserved!;

// ---- before its session works

export const holds = ({ event }: Args): boolean => event.type === 'subagent.reserve' && event.hold;

export function take({ event }: Args): Partial<SubagentContext> {
  if (event.type !== 'subagent.reserve') return {};
  const { meta, parentRunId, task, label, terms, lineage } = event;
  const reserved: Reserved = {
    parentRunId,
    task,
    terms,
    lineage,
    ...(label === undefined ? {} : { label }),
    ...(meta.principal ? { principal: meta.principal } : {}),
  };
  return { reserved, parent: terms.parent, shownUnder: terms.parent, createdAt: meta.now };
}

export const start = ({ event }: Args): Partial<SubagentContext> => ({
  startedAt: event.meta.now,
});
export const accept = (): Partial<SubagentContext> => ({ isAccepted: true });

const errorOfRefusal = ({ event }: Args): ErrorData | undefined =>
  event.type === 'reply' || event.type === 'refused' ? event.error : undefined;

/** The session has not accepted the task, and will not: a refusal, or no session. */
export const taskIsRefused = (args: Args): boolean => {
  const { context, event } = args;
  if (context.isAccepted || !errorOfRefusal(args)) return false;
  return event.type === 'reply' || (event.type === 'refused' && event.message === RECEIVE);
};
const RECEIVE = 'session.receive';

export const noteRefused = (args: Args): Partial<SubagentContext> =>
  stopped('refused', errorOfRefusal(args)!);

// ---- what its session says

/** An end of a run, not of a message that joined one; sent only by its session. */
const endOf = ({ context, event }: Args): Delivered<RunEnded> | undefined =>
  event.type === 'run.ended' &&
  event.joined === undefined &&
  event.meta.from === childAddress(context)
    ? event
    : undefined;

export const isItsRun = (args: Args): boolean => endOf(args) !== undefined;
/** Its session will start another run without a new message. */
export const goesOn = (args: Args): boolean => endsAs(args, 'ok') && !isLast(args);
export const endsOk = (args: Args): boolean => endsAs(args, 'ok') && isLast(args);
/** It failed, and left active work behind. */
export const leavesOthers = (args: Args): boolean => isItsRun(args) && !isLast(args);
export const endsLate = (args: Args): boolean => endsAs(args, 'timeout');
export const isLast = (args: Args): boolean => endOf(args)?.open === 0;

const endsAs = (args: Args, status: RunEnded['status']): boolean => endOf(args)?.status === status;

/** Adds what the run has said and used, once. */
export function count(args: Args): Partial<SubagentContext> {
  const { context } = args;
  const end = endOf(args)!;
  const { runId, text, usage, below } = end;
  const isKnown = context.counted.includes(runId);
  return {
    text: text === '' ? context.text : text,
    below,
    ...(isKnown
      ? {}
      : {
          counted: [...context.counted, runId].slice(-RUNS_KNOWN_MAX),
          usage: sum(context.usage, usage),
        }),
  };
}

// ---- how it ends

const stopped = (
  outcome: SubagentOutcome,
  error: ErrorData,
): { readonly stop: Stop } & Partial<SubagentContext> => ({ stop: { outcome, error } });

/** A run of its session has ended badly. */
export function fail(args: Args): Partial<SubagentContext> {
  const { status, error, runId } = endOf(args)!;
  if (status === 'timeout') return stopped('timedOut', error ?? lateError(args.context));
  const aborted: ErrorData = { code: 'CANCELLED', message: `run ${runId} was aborted` };
  return stopped('failed', error ?? aborted);
}

export const timeOut = ({ context }: Args): Partial<SubagentContext> =>
  stopped('timedOut', lateError(context));

const lateError = (context: SubagentContext): ErrorData => ({
  code: 'DEADLINE_EXCEEDED',
  message: `it had not ended after ${reservedOf(context).terms.timeoutMs / 1_000} s`,
});

export const kill = ({ event }: Args): Partial<SubagentContext> => {
  const given = event.type === 'subagent.kill' ? event.reason.slice(0, REASON_MAX) : '';
  return stopped('killed', { code: 'CANCELLED', message: given === '' ? 'killed' : given });
};
const REASON_MAX = 1_000;

export const giveUpWaiting = (): Partial<SubagentContext> =>
  stopped('killed', { code: 'CANCELLED', message: 'no place came free' });

export const stopsAs = ({ context }: State, { outcome }: { outcome: SubagentOutcome }): boolean =>
  context.stop?.outcome === outcome;

export const conclude = (
  { event }: Args,
  { outcome }: { outcome: SubagentOutcome },
): Partial<SubagentContext> => ({ outcome, endedAt: event.meta.now });

// ---- receivers of its end

export const hasParent = ({ context }: State): boolean => context.parent !== null;
export const isMoved = ({ context, event }: Args): boolean =>
  event.type === 'subagent.move' && event.parent !== context.parent;
/**
 * The session that requests the end is its receiver; messages of an earlier parent come too late.
 */
export const isByParent = ({ context, event }: Args): boolean =>
  context.parent !== null && event.meta.from === parentAddress(context);

export const move = ({ context, event }: Args): Partial<SubagentContext> =>
  event.type === 'subagent.move'
    ? {
        parent: event.parent,
        shownUnder: event.parent ?? context.shownUnder,
        isNewHere: event.parent !== null,
      }
    : {};
/** The parent received the end before it learned that it adopted the subagent. */
export const isTooEarly = (args: Args): boolean =>
  args.event.type === 'subagent.heard' &&
  args.event.how === 'unknown' &&
  args.context.isNewHere &&
  isByParent(args);
export const waitForAdoption = (): Partial<SubagentContext> => ({ isNewHere: false });
export const noteReport = ({ event }: Args): Partial<SubagentContext> =>
  event.type === 'subagent.heard' ? { reportedBy: event.how } : {};
export const noteUnreported = (): Partial<SubagentContext> => ({ reportedBy: 'unknown' });

export const endIsRefused = ({ event }: Args): boolean =>
  event.type === 'refused' && event.message === 'subagent.ended';
/** The parent refused it for now and applied nothing of it. */
export const mayPass = (args: Args): boolean =>
  endIsRefused(args) && ERRORS[errorOfRefusal(args)!.code].retriable;

// ---- steering

export const isSaying = ({ event }: Args): boolean =>
  event.type === 'subagent.steer' && wordsOf(event.text);
const wordsOf = (text: string): boolean => text.trim() !== '' && text.length <= TASK_CHARACTERS_MAX;
export const countSteer = ({ context }: Args): Partial<SubagentContext> => ({
  steers: context.steers + 1,
});

// ---- how long

export const wholeTimeMs = ({ context }: State): number => reservedOf(context).terms.timeoutMs;
export const hasSession = ({ context }: State): boolean => context.startedAt !== null;
export const readableMs = ({ context }: State): number => reservedOf(context).terms.keepMs;
/** What is left of ROW_MS when its session is closed, or never was. */
export const rememberedMs = ({ context }: State): number =>
  Math.max(0, ROW_MS - (hasSession({ context }) ? readableMs({ context }) : 0));
