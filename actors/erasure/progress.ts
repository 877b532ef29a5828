/** Progress: what an erasure remembers, its rows, answers and receipt. Pure. */
import {
  type AuditNote,
  AUDIT_TEXT_CHARACTERS_MAX,
  auditAddress,
  auditDay,
} from '../../protocols/audit.ts';
import {
  type ErasureCounts,
  erasureKey,
  ERASURES_INDEX,
  type ErasureReach,
  type ErasureRow,
  type ErasureScrub,
  type ErasureSurvey,
  type ErasureTarget,
  type ErasureWork,
  NO_COUNTS,
  SCRUBBING,
} from '../../protocols/erasure.ts';
import type { ActorInput, Project, Reply, Tell } from '../../protocols/statechart.ts';
import { errorOf } from '../kit/handlers.ts';
import { type Args, type ErasureContext, on } from './types.ts';

type Change = Partial<ErasureContext>;
type RowState = ErasureRow['state'];

const nothing = {
  sessions: [],
  shared: 0,
  counts: NO_COUNTS,
  reach: null,
  endedAt: null,
  error: null,
  reply: null,
} as const satisfies Change;

export const initialContext = ({ tenant, now }: ActorInput): ErasureContext => ({
  ...nothing,
  target: { tenant, kind: 'session', id: '' },
  who: '',
  requestedAt: now,
});

export const begin = on('erasure.request', ({ context, event }): Change => {
  const { kind, id, who, meta } = event;
  const { tenant } = context.target;
  const reply = meta.reply ?? null;
  return { ...nothing, target: { tenant, kind, id }, who, requestedAt: meta.now, reply };
});
export const noteFound = (_: Args, { sessions, shared, counts }: ErasureSurvey): Change => ({
  sessions,
  shared,
  counts,
});
export const noteRefused = ({ event }: Args): Change => ({ error: errorOf(event) });
export const noteFailure = ({ event }: Args): Change => ({ error: errorOf(event) });
/** A repeat finds less than was there, so the larger number counts. */
export const noteRemoved = ({ context }: Args, counts: ErasureCounts): Change => {
  const larger = (name: keyof ErasureCounts) =>
    Math.max(context.counts[name] ?? 0, counts[name] ?? 0);
  return {
    error: null,
    counts: {
      sessions: larger('sessions'),
      actors: larger('actors'),
      rows: larger('rows'),
      transcriptEntries: larger('transcriptEntries'),
      deadLetters: larger('deadLetters'),
      artifacts: larger('artifacts'),
      files: larger('files'),
      vectors: larger('vectors'),
    },
  };
};
/** The effect of an older program has no output. */
export const isScrubbed = (_: Args, reach: ErasureReach | null): boolean => reach?.isDone !== false;
export const noteReached = (_: Args, reach: ErasureReach): Change => ({ error: null, reach });
export const noteScrubbed = ({ event }: Args, reach: ErasureReach | null): Change => ({
  error: null,
  reach,
  endedAt: event.meta.now,
  sessions: [],
});

// ---- rows and answers

function rowOf({ context, event }: Args, state: RowState): ErasureRow {
  const { target, who, requestedAt, endedAt, counts, shared, error, reach } = context;
  const { kind, id } = target;
  return {
    erasure: erasureKey(target),
    kind,
    id,
    state,
    who,
    requestedAt,
    updatedAt: event.meta.now,
    counts,
    ...(reach && { reach }),
    ...(endedAt !== null && { endedAt }),
    ...(shared > 0 && { shared }),
    ...(error && { error }),
  };
}

export const row = (args: Args, { state }: { state: RowState }): Project => ({
  index: ERASURES_INDEX,
  key: erasureKey(args.context.target),
  value: rowOf(args, state),
});
export const isUnderWay = (args: Args): Reply => ({
  to: args.event.meta.reply,
  result: rowOf(args, 'removing'),
});
/** What came since the removal would stay, so the request is made again when this one is done. */
export const isScrubbing = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  error: {
    code: 'CONFLICT',
    message:
      `the erasure of ${erasureKey(context.target)} has removed what it found, and writes the ` +
      'data file: request the erasure again when it is done',
    details: { reason: SCRUBBING },
  },
});
export const found = (args: Args): Reply => ({
  to: args.context.reply ?? undefined,
  result: rowOf(args, 'removing'),
});
export const refusal = ({ context }: Args): Reply => ({
  to: context.reply ?? undefined,
  error: context.error ?? { code: 'INTERNAL', message: 'the erasure was refused' },
});

/** One text, because a record names at most eight things. Streams by their last word. */
const reachedText = ({ shards, shardsAll, streams, processes }: ErasureReach): string =>
  [
    `${shards} of ${shardsAll} shards`,
    ...streams.map((stream) => stream.slice(stream.lastIndexOf('-') + 1)),
    ...processes,
  ].join(', ');

/** What the audit keeps: who, when, what, and how much. No content. */
export const receipt = ({ context, event }: Args): Tell => {
  const { target, who, counts, reach } = context;
  const { now } = event.meta;
  const short = (text: string) => text.slice(0, AUDIT_TEXT_CHARACTERS_MAX);
  const note: AuditNote = {
    type: 'audit.note',
    records: [
      {
        at: now,
        who: short(who),
        by: 'erasure',
        action: `erasure.${target.kind}`,
        on: {
          id: short(target.id),
          sessions: `${counts.sessions}`,
          actors: `${counts.actors}`,
          entries: `${counts.transcriptEntries}`,
          deadLetters: `${counts.deadLetters}`,
          artifacts: `${counts.artifacts}`,
          files: `${counts.files}`,
          ...(reach && { reached: short(reachedText(reach)) }),
        },
        outcome: 'done',
      },
    ],
  };
  return { to: auditAddress(target.tenant, auditDay(now)), event: note };
};

// ---- inputs of the effects

export const targetOf = ({ context }: Pick<Args, 'context'>): ErasureTarget => context.target;
export const scrubOf = ({ context }: Pick<Args, 'context'>): ErasureScrub => {
  const { target, who, requestedAt, reach = null } = context;
  return { ...target, who, requestedAt, reach };
};
export const workOf = ({ context }: Pick<Args, 'context'>): ErasureWork => {
  const { target, sessions, who, requestedAt } = context;
  return { ...target, sessions, who, requestedAt };
};
