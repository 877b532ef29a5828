/** Progress: what a sweeper remembers, its budget, and the inputs of its effects. Pure. */
import {
  NO_ITEMS,
  RETENTION_KINDS,
  type RetentionCounts,
  type RetentionKind,
  type RetentionPicked,
  type RetentionPickInput,
  type RetentionPlan,
  type RetentionRemoval,
  type RetentionRemoved,
} from '../../protocols/retention.ts';
import type { ActorInput } from '../../protocols/statechart.ts';
import { errorOf } from '../kit/handlers.ts';
import { type Args, on, type OpenSweep, type RetentionContext } from './types.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** After the first start of an installation, so that it does not compete with it. */
const FIRST_MS = 600_000;
/** Attempts of one turn, before the sweep gives its kind up. */
const ATTEMPTS_MAX = 5;

type Change = Partial<RetentionContext>;

export const initialContext = ({ tenant, now }: ActorInput): RetentionContext => ({
  tenant,
  everyMs: DAY_MS,
  dueAt: now + FIRST_MS,
  open: null,
  last: null,
  removed: NO_ITEMS,
  hour: { since: now, items: 0, bytes: 0 },
  error: null,
  reply: null,
});

/** The next sweep begins earlier or later, counted from the begin of the last one. */
export const configure = on('retention.configure', ({ context, event }): Change => {
  const { everyMs, meta } = event;
  if (everyMs === context.everyMs) return {};
  const { open, last } = context;
  const startedAt = (open ?? last)?.startedAt;
  return { everyMs, dueAt: startedAt === undefined ? meta.now + FIRST_MS : startedAt + everyMs };
});

const begun = ({ context, event }: Args, who: string): Change => ({
  open: {
    startedAt: event.meta.now,
    who,
    found: NO_ITEMS,
    removed: NO_ITEMS,
    skipped: 0,
    held: 0,
    failed: {},
    kinds: [],
    budget: { itemsPerTurn: 1, itemsPerHour: 1 },
    cursor: null,
    items: [],
    attempts: 0,
  },
  dueAt: event.meta.now + context.everyMs,
  error: null,
});
export const beginDue = (args: Args): Change => begun(args, 'retention');
export const begin = on(
  'retention.sweep',
  ({ context, event }): Change => ({
    ...begun({ context, event }, event.who),
    reply: event.meta.reply ?? null,
  }),
);

/** The sweep. Call it only while one is under way. */
const openOf = ({ open }: RetentionContext): OpenSweep => open!;
const changed = ({ context }: Args, fields: Partial<OpenSweep>): Change => ({
  open: { ...openOf(context), ...fields },
});

export const notePlan = (args: Args, { kinds, budget, found, held }: RetentionPlan): Change => ({
  ...changed(args, { kinds, budget, found, held, attempts: 0 }),
  error: null,
});

/** A cursor of null ends the kind, once what was picked is removed. */
export const notePicked = (args: Args, picked: RetentionPicked): Change => {
  const open = openOf(args.context);
  const { items, cursor, bytes, budget = open.budget } = picked;
  const isOver = items.length === 0 && cursor === null;
  const kinds = isOver ? open.kinds.slice(1) : open.kinds;
  return {
    ...changed(args, { items, bytes, cursor, budget, attempts: 0, kinds }),
    error: null,
  };
};

export const noteRemoved = (args: Args, { skipped }: RetentionRemoved): Change => {
  const { context } = args;
  const sweep = openOf(context);
  const { items, bytes = 0, cursor, kinds } = sweep;
  const kind = kindOf(context);
  const count = items.length - skipped;
  const { since, items: before, bytes: bytesBefore = 0 } = context.hour;
  return {
    ...changed(args, {
      items: [],
      bytes: 0,
      attempts: 0,
      removed: plus(sweep.removed, kind, count),
      skipped: sweep.skipped + skipped,
      kinds: cursor === null ? kinds.slice(1) : kinds,
    }),
    removed: plus(context.removed, kind, count),
    hour: { since, items: before + items.length, bytes: bytesBefore + bytes },
    error: null,
  };
};

const plus = (counts: RetentionCounts, kind: RetentionKind, more: number): RetentionCounts => ({
  ...counts,
  [kind]: counts[kind] + more,
});

export const noteFailure = (args: Args): Change => ({
  ...changed(args, { attempts: Math.min(ATTEMPTS_MAX, openOf(args.context).attempts + 1) }),
  error: errorOf(args.event),
});

/** The sweep continues with the next kind; the next sweep tries this one again. */
export const giveUpKind = (args: Args): Change => {
  const { kinds, failed, items, skipped } = openOf(args.context);
  return changed(args, {
    kinds: kinds.slice(1),
    failed: { ...failed, [kindOf(args.context)]: errorOf(args.event) },
    skipped: skipped + items.length,
    items: [],
    bytes: 0,
    cursor: null,
    attempts: 0,
  });
};

export const finish = ({ context, event }: Args): Change => {
  const { startedAt, who, found, removed, skipped, held, failed } = openOf(context);
  const endedAt = event.meta.now;
  const last = { startedAt, who, endedAt, found, removed, skipped, held, failed };
  return { open: null, last, error: null };
};
export const clearReply = (): Change => ({ reply: null });

// ---- the budget

const hasElapsed = ({ hour }: RetentionContext, now: number): boolean =>
  now >= hour.since + HOUR_MS;

/** A new hour of the budget begins when the last one has elapsed. */
export const openHour = ({ context, event }: Args): Change =>
  hasElapsed(context, event.meta.now)
    ? { hour: { since: event.meta.now, items: 0, bytes: 0 } }
    : {};

export const isSpent = ({ context, event }: Args): boolean => {
  const { itemsPerHour } = openOf(context).budget;
  const isUsed = context.hour.items >= itemsPerHour || bytesLeft(context) <= 0;
  return isUsed && !hasElapsed(context, event.meta.now);
};

const bytesLeft = (context: RetentionContext): number => {
  const { bytesPerHour = Number.POSITIVE_INFINITY } = openOf(context).budget;
  return bytesPerHour - (context.hour.bytes ?? 0);
};

export const isOver = ({ context }: Args): boolean => openOf(context).kinds.length === 0;
export const hasItems = (_: Args, { items }: RetentionPicked): boolean => items.length > 0;
export const attemptsRemain = ({ context }: Args): boolean =>
  openOf(context).attempts + 1 < ATTEMPTS_MAX;

// ---- delays and inputs of effects

export const untilDueMs = ({ context, event }: Args): number =>
  Math.max(0, context.dueAt - event.meta.now);
export const restMs = ({ context, event }: Args): number =>
  Math.max(0, context.hour.since + HOUR_MS - event.meta.now);

type OfContext = Pick<Args, 'context'>;
const kindOf = (context: RetentionContext): RetentionKind =>
  openOf(context).kinds[0]?.kind ?? RETENTION_KINDS[0];
const placeOf = ({ context }: OfContext) => {
  const { before } = openOf(context).kinds[0]!;
  return { tenant: context.tenant, kind: kindOf(context), before };
};

export const planInput = ({ context }: OfContext): { tenant: string; now: number } => ({
  tenant: context.tenant,
  now: openOf(context).startedAt,
});
export const pickInput = ({ context }: OfContext): RetentionPickInput => {
  const { cursor, budget } = openOf(context);
  const left = budget.itemsPerHour - context.hour.items;
  const bytesLimit = bytesLeft(context);
  return {
    ...placeOf({ context }),
    cursor,
    limit: Math.max(1, Math.min(budget.itemsPerTurn, left)),
    ...(Number.isFinite(bytesLimit) && { bytesLimit: Math.max(1, bytesLimit) }),
  };
};
export const removeInput = ({ context }: OfContext): RetentionRemoval => ({
  ...placeOf({ context }),
  items: openOf(context).items,
});
