/**
 * Children: the active subagents of a session: which have a slot, which wait, and how ends are
 * processed. Pure. spawn.ts starts them, budget-ledger.ts keeps the budget, reports.ts reports
 * ends, and orphans.ts handles a reset or a deletion.
 *
 * Invariants:
 *  1. At most `concurrentMax` have a slot; the child that waits longest receives a free slot.
 *  2. An end is processed once. A subagent sends it once, to one turn, which removes the child from
 *     the list and answers the waiting call, stores a report, or stays silent. One run reads a
 *     report (reports.ts). An answer may be lost with the worker that made the call: so the child
 *     stays in `run.spawned` until the call has a result with the end. If the call is repeated, or
 *     has another result, or the run ends before, the subagent is asked to send its end again,
 *     once: `awaited` has the receiver until then. Only the first end and the awaited one change
 *     anything.
 *  3. In a subagent's session each end is reported, because its own end waits for theirs; unless it
 *     is stopping itself: then its subagent is notified when the last one below has ended.
 */
import type { ErrorData } from '../../../protocols/errors.ts';
import type { RunEnded } from '../../../protocols/session.ts';
import type { Reply, Tell } from '../../../protocols/statechart.ts';
import {
  type ReportedBy,
  type SpawnResult,
  type SubagentEnded,
  type SubagentGo,
  type SubagentHeard,
  type SubagentKill,
  type SubagentReport,
  subagentAddress,
  subagentRunId,
} from '../../../protocols/subagent.ts';
import type { Awaited, Child, Spawned } from './related-sessions.ts';
import { below, settled, tokensOf } from './budget-ledger.ts';
import {
  type ActionArgs,
  type ActionResult,
  defined,
  metaOf,
  nowOf,
  on,
  withRun,
} from '../action-result.ts';
import { NO_USAGE } from '../../../protocols/models/model-usage.ts';
import { withReport } from './reports.ts';
import { grantorOf } from './subagent-limits.ts';
import type { SessionContext, ToolResult } from '../types.ts';
import { waitsAtRunEnd, waitsOfCalls } from '../conversations/conversation-waits.ts';

/** How long the end of a child with a slot is awaited after its time limit. */
const LATE_MS = 600_000;
/**
 * Maximum number of stored children whose slot was freed without an end, which may still arrive.
 */
const LOST_MAX = 20;

export const toSubagent = (
  { tenant }: SessionContext,
  id: string,
  event: SubagentGo | SubagentKill | SubagentReport | SubagentHeard,
): Tell => ({ to: subagentAddress(tenant, id), event });

/** An absent list means an empty one, and uses no space. */
const listed = <T>(list: readonly T[]): readonly T[] | undefined =>
  list.length > 0 ? list : undefined;

// ---- slots

export const hasSlot = ({ going, lost }: Child): boolean => going && !lost;

/** The child with a slot from now on. */
export const withSlot = (child: Child, now: number): Child => ({
  ...child,
  going: true,
  until: now + child.timeoutMs + LATE_MS,
});

/** Frees the slots of children whose end is long overdue. */
export function freeLateSlots(children: readonly Child[], now: number): readonly Child[] {
  const all = children.map(
    (one): Child =>
      hasSlot(one) && one.until !== undefined && one.until < now ? { ...one, lost: true } : one,
  );
  const tooMany = all.filter(({ lost }) => lost).slice(0, -LOST_MAX);
  return tooMany.length > 0 ? all.filter((one) => !tooMany.includes(one)) : all;
}

/** Gives free slots to the subagents that wait longest. */
export function assignSlots(
  context: SessionContext,
  children: readonly Child[],
  { places, now }: { readonly places: number; readonly now: number },
): { readonly children: readonly Child[]; readonly tells: readonly Tell[] } {
  const free = places - children.filter(hasSlot).length;
  const next = children.filter(({ going }) => !going).slice(0, Math.max(0, free));
  return {
    children: children.map((one) => (next.includes(one) ? withSlot(one, now) : one)),
    tells: next.map(({ id }) => toSubagent(context, id, { type: 'subagent.go' })),
  };
}

// ---- an end

/** The end of a subagent: the first time, or again after a request. */
export const onSubagentEnded = on('subagent.ended', (at): ActionResult => {
  const { context, event } = at;
  const ended = event;
  const child = (context.children ?? []).find(({ id }) => id === ended.id);
  if (child) return onFirstEnd(at, ended, child);
  const awaited = (context.awaited ?? []).find(({ id }) => id === ended.id);
  if (ended.again && awaited) return onRepeatedEnd(at, ended, awaited);
  if (ended.again) return {};
  return { tells: [toSubagent(context, ended.id, { type: 'subagent.heard', how: 'unknown' })] };
});

export function onFirstEnd(at: ActionArgs, ended: SubagentEnded, child: Child): ActionResult {
  const { context, event } = at;
  const { books, children = [] } = context;
  const now = nowOf(event);
  const left = freeLateSlots(
    children.filter(({ id }) => id !== ended.id),
    now,
  );
  const places = books?.concurrentMax ?? children.filter(hasSlot).length;
  const next = assignSlots(context, left, { places, now });
  const change: Partial<SessionContext> = {
    children: listed(next.children),
    ...(books && !child.apart ? { books: settled(books, child, ended) } : {}),
  };
  const after = { ...context, ...change };
  const delivery = delivered({ context: after, event }, ended, child);
  return {
    ...delivery,
    change: { ...change, ...delivery.change },
    tells: [
      ...(delivery.tells ?? []),
      ...next.tells,
      ...lastEnd({ ...after, ...delivery.change }, now),
    ],
  };
}

function onRepeatedEnd(at: ActionArgs, ended: SubagentEnded, awaited: Awaited): ActionResult {
  const { context, event } = at;
  const left = listed((context.awaited ?? []).filter((one) => one !== awaited));
  const after = { ...context, awaited: left };
  const delivery = delivered({ context: after, event }, ended, { ...awaited, reportBack: true });
  return { ...delivery, change: { awaited: left, ...delivery.change } };
}

/** Delivers the end to the waiting call, or to a run as a report, or to no receiver. */
function delivered(
  { context, event }: ActionArgs,
  ended: SubagentEnded,
  { wait, reportBack, lineage }: Pick<Child, 'wait' | 'reportBack' | 'lineage'>,
): ActionResult {
  const acknowledge = (how: ReportedBy) =>
    toSubagent(context, ended.id, { type: 'subagent.heard', how });
  if (wait)
    return {
      change: withResultSent(context, ended.id),
      tells: [acknowledge('waited')],
      answer: { to: wait.reply ?? undefined, result: spawnResultOf(ended) },
    };
  if (!reportBack) return { tells: [acknowledge('silent')] };
  const { type: _, again: __, meta: ___, ...rest } = ended as SubagentEnded & { meta: unknown };
  const reports = withReport(context.reports, { ...rest, at: nowOf(event), lineage });
  return { change: { reports }, tells: [acknowledge(reportMode(context))] };
}

/** `context`: without the child. */
function reportMode({ run, queue, reports = [], children = [] }: SessionContext): ReportedBy {
  if (run?.status === 'running') return 'steer';
  const isOneOfMany = reports.length > 0 || children.some(({ lost }) => !lost);
  return isOneOfMany || queue[0]?.mode === 'collect' ? 'collect' : 'followup';
}

const withResultSent = (context: SessionContext, id: string): Partial<SessionContext> => {
  const spawned = (context.run?.spawned ?? []).map((one) =>
    one.id === id ? { ...one, told: true as const } : one,
  );
  return context.run ? withRun(context, { spawned }) : {};
};

const spawnResultOf = (ended: SubagentEnded): SpawnResult => {
  const { outcome, sessionKey, runId, findings, usage, startedAt, endedAt, error } = ended;
  return {
    status: outcome,
    sessionId: sessionKey,
    runId,
    childSessionKey: sessionKey,
    result: findings,
    tokensUsed: tokensOf(usage),
    duration: endedAt - (startedAt ?? endedAt),
    ...defined({ costUsd: usage.costUsd, error: error?.message }),
  };
};

/** `isOver` if nothing in the session of a subagent is active: then the subagent has ended. */
export const endIfInactive = (context: SessionContext): Pick<SessionContext, 'isOver'> =>
  context.terms && !context.run && openOf(context) === 0 ? { isOver: true } : {};

/**
 * The end of a subagent's session in which nothing is active and no run will report the end,
 * because the session was stopped, or what it waited for was removed.
 */
export function lastEnd(context: SessionContext, now: number, error?: ErrorData): Tell[] {
  const grantor = grantorOf(context);
  if (!grantor || !endIfInactive(context).isOver) return [];
  const event: RunEnded = {
    type: 'run.ended',
    runId: '',
    sessionKey: context.sessionKey,
    status: 'aborted',
    text: '',
    ...defined({ error }),
    usage: NO_USAGE,
    startedAt: now,
    endedAt: now,
    open: 0,
    below: below(context),
  };
  return [{ to: grantor, event }];
}

// ---- calls and the run end

type Released = {
  readonly change: Partial<SessionContext>;
  readonly tells: readonly Tell[];
  readonly answers: readonly Reply[];
};

/**
 * Records that these calls have results. If a result does not contain the end of the subagent that
 * the call waited for (a time-out, a lost worker), the end becomes a report.
 */
export function recorded(
  context: SessionContext,
  results: readonly Pick<ToolResult, 'callId' | 'ends'>[],
): Omit<Released, 'answers'> {
  const callIds = results.map(({ callId }) => callId);
  const waits = waitsOfCalls(context, callIds);
  const { run } = context;
  const mine = (run?.spawned ?? []).filter(({ callId }) => callIds.includes(callId));
  if (mine.length === 0) return { change: waits, tells: [] };
  const read = mine.filter((one) => one.told && results.some((result) => containsEnd(result, one)));
  const isOf = (id: string) => mine.some((one) => one.id === id);
  const loosened = releaseCalls(context, isOf, (id) => !read.some((one) => one.id === id));
  const back = read.reduce((left, { lineage }) => left + lineage.left, 0);
  const lineage = run!.lineage && { ...run!.lineage, left: run!.lineage.left + back };
  const spawned = listed(run!.spawned!.filter(({ id }) => !isOf(id)));
  const fields = { spawned, ...(lineage ? { lineage } : {}) };
  return {
    change: { ...waits, ...loosened.change, ...withRun(context, fields) },
    tells: loosened.tells,
  };
}

/** Whether the result of the subagent's call contains the subagent's end. */
const containsEnd = (
  { callId, ends = [] }: Pick<ToolResult, 'callId' | 'ends'>,
  one: Spawned,
): boolean => callId === one.callId && ends.includes(one.id);

/** At the end of the run, everything that its calls waited for becomes a report to the next run. */
export function atRunEnd(context: SessionContext): Released {
  const waits = waitsAtRunEnd(context);
  const all = () => true;
  const { change, tells } = releaseCalls(context, all, all);
  const unanswered = (context.children ?? []).flatMap(({ wait, ...child }): Reply[] =>
    wait ? [{ to: wait.reply ?? undefined, result: acceptedOf(child) }] : [],
  );
  return {
    change: { ...waits.change, ...change },
    tells,
    answers: [...(waits.answers ?? []), ...unanswered],
  };
}

/** The answer to a call that does not wait for its subagent. */
export const acceptedOf = ({
  id,
  sessionKey,
  tokens,
  going,
}: Pick<Child, 'id' | 'sessionKey' | 'tokens' | 'going'>): SpawnResult => ({
  status: 'accepted',
  runId: subagentRunId(id),
  childSessionKey: sessionKey,
  queued: !going,
  tokens,
});

/**
 * Ends the waits of calls for these subagents: active subagents will report, and an end that was
 * sent as an answer is requested again if it was lost.
 */
function releaseCalls(
  context: SessionContext,
  isOf: (id: string) => boolean,
  isLost: (id: string) => boolean,
): Omit<Released, 'answers'> {
  const { children, run } = context;
  const unread = (run?.spawned ?? []).filter(({ id, told }) => told && isOf(id) && isLost(id));
  const before = context.awaited ?? [];
  const asked = unread.filter(({ id }) => !before.some((one) => one.id === id));
  const kept = before
    .filter(({ id, wait }) => !wait || !isOf(id) || isLost(id))
    .map((one) => (one.wait && isOf(one.id) ? withoutWait(one) : one));
  const awaited = [...kept, ...asked.map(({ id, lineage }): Awaited => ({ id, lineage }))];
  const waiting = (children ?? []).some(({ id, wait }) => wait && isOf(id));
  return {
    change: {
      ...(waiting
        ? { children: children!.map((one) => (one.wait && isOf(one.id) ? withoutWait(one) : one)) }
        : {}),
      ...(awaited.length > 0 || before.length > 0 ? { awaited: listed(awaited) } : {}),
    },
    tells: asked.map(({ id }) => toSubagent(context, id, { type: 'subagent.report' })),
  };
}

const withoutWait = <T extends Pick<Child, 'wait'>>({ wait: _, ...rest }: T): Omit<T, 'wait'> =>
  rest;

// ---- activity

/**
 * The number of things that will start another run of this session: ends that will arrive or are
 * unread, and waiting messages. In a subagent's session unreported ends count, too, because its own
 * end waits for them and includes their usage.
 */
export function openOf(context: SessionContext): number {
  const { children = [], reports = [], awaited = [], queue, folded, terms } = context;
  const going = children.filter(({ lost, reportBack }) => !lost && (reportBack || terms));
  return going.length + reports.length + awaited.length + queue.length + folded.length;
}

/**
 * Kills one subagent or all of them, including waiting ones. From the session's own subagent it is
 * the end of the session.
 */
export const kill = on('session.kill', ({ context, event }): ActionResult => {
  const { id, reason = 'killed by its parent' } = event;
  const { children = [] } = context;
  const named = children.filter((one) => id === undefined || one.id === id);
  const { from, reply } = metaOf(event);
  const isEnd = id === undefined && from !== undefined && from === grantorOf(context);
  const change = isEnd ? { ...stopped(context), isOver: true as const } : {};
  return {
    change,
    tells: [
      ...named.map((one) => toSubagent(context, one.id, { type: 'subagent.kill', reason })),
      ...(isEnd ? lastEnd({ ...context, ...change }, nowOf(event)) : []),
    ],
    answer: { to: reply, result: { killed: named.map((one) => one.id) } },
  };
});

/** Later ends are not reported. */
const stopped = ({ children }: SessionContext): Partial<SessionContext> => ({
  ...(children ? { children: children.map((one) => ({ ...one, reportBack: false })) } : {}),
  reports: undefined,
  awaited: undefined,
});
