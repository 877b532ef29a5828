/**
 * Orphans: what happens to subagents when their parent is reset or deleted. Pure.
 *
 * Invariant: each subagent has one outcome: it is killed, another session receives its end, or no
 * session does. A subagent that waits for a slot never waits for a parent that no longer exists.
 */
import { sessionKey as keys } from '../../../protocols/session-key.ts';
import type { Lineage } from '../../../protocols/lineage.ts';
import type { AdoptedChild, SessionAdopt } from '../../../protocols/session.ts';
import type { Tell } from '../../../protocols/statechart.ts';
import {
  type OrphanPolicy,
  subagentAddress,
  type SubagentMove,
} from '../../../protocols/subagent.ts';
import type { Child, Report } from './related-sessions.ts';
import { outsideLedger, ledgerAtReset } from './budget-ledger.ts';
import { withSlot, assignSlots, toSubagent } from './children.ts';
import { type ActionResult, nowOf, on } from '../action-result.ts';
import type { SessionContext } from '../types.ts';
import { sessionAt } from '../conversations/conversation-waits.ts';

/** Subagents of others that a session adopts; the ends of further ones are not reported. */
const ADOPTED_MAX = 64;

type OrphanResult = { readonly change: Partial<SessionContext>; readonly tells: readonly Tell[] };

/**
 * What a reset, or with `closing` the deletion, does to the subagents and to unread ends. The
 * change also removes or renews the ledger.
 */
export const orphansOf = (context: SessionContext, policy: OrphanPolicy): OrphanResult =>
  context.closing ? atClose(context, policy) : atReset(context, policy);

function atReset(context: SessionContext, policy: OrphanPolicy): OrphanResult {
  const { children = [], terms, reports, awaited } = context;
  const books = ledgerAtReset(context);
  const stay = children.map((one) => (terms ? one : outsideLedger(one)));
  const fresh = {
    ...(books || context.books ? { books } : {}),
    ...(reports ? { reports: undefined } : {}),
    ...(awaited ? { awaited: undefined } : {}),
  };
  if (policy === 'adopt')
    return {
      change: {
        ...(books || context.books ? { books } : {}),
        ...(children.length > 0 ? { children: stay } : {}),
      },
      tells: [],
    };
  if (children.length === 0) return { change: fresh, tells: [] };
  if (policy === 'detach')
    return { change: { ...fresh, children: undefined }, tells: detached(context, children) };
  // A subagent's own end waits for theirs: it receives them in any case.
  const silent = stay.map((one) => ({ ...one, reportBack: terms !== undefined }));
  return { change: { ...fresh, children: silent }, tells: killed(context, children, RESET) };
}

const RESET = 'the session that started it was reset';
const DELETED = 'the session that started it was deleted';

function atClose(context: SessionContext, policy: OrphanPolicy): OrphanResult {
  const { children = [], reports = [], agentId, sessionKey, settings, tenant, terms } = context;
  // an agent that exists only for one task has no main session: the root session gets its results
  const main = terms?.root ?? keys.main(agentId, settings?.sandbox?.mainKey);
  const isAdopted = policy === 'adopt' && main !== sessionKey;
  if (children.length === 0 && !(isAdopted && reports.length > 0)) return { change: {}, tells: [] };
  if (isAdopted) {
    const all = [...children.map(adoptedOf), ...reports.map(unreadOf)];
    const handed: SessionAdopt = { type: 'session.adopt', children: all };
    return {
      change: { children: undefined },
      tells: [
        { to: sessionAt(context, main), event: handed },
        ...children.map(({ id }) => moved(tenant, id, main)),
      ],
    };
  }
  const kills = policy === 'cascade' ? killed(context, children, DELETED) : [];
  return { change: { children: undefined }, tells: [...kills, ...detached(context, children)] };
}

const killed = (context: SessionContext, children: readonly Child[], reason: string): Tell[] =>
  children.map(({ id }) => toSubagent(context, id, { type: 'subagent.kill', reason }));

/** Their ends are not reported; waiting ones would wait without a parent. */
const detached = (context: SessionContext, children: readonly Child[]): Tell[] => [
  ...killed(
    context,
    children.filter(({ going }) => !going),
    'the session that started it was deleted before it received a slot',
  ),
  ...children.map(({ id }) => moved(context.tenant, id, null)),
];

const moved = (tenant: string, id: string, parent: string | null): Tell => {
  const event: SubagentMove = { type: 'subagent.move', parent };
  return { to: subagentAddress(tenant, id), event };
};

const adoptedOf = ({ id, sessionKey, reportBack, going, timeoutMs }: Child): AdoptedChild => ({
  id,
  sessionKey,
  reportBack,
  timeoutMs,
  ...(going ? {} : { waits: true }),
});

const unreadOf = ({ id, sessionKey }: Report): AdoptedChild => ({
  id,
  sessionKey,
  reportBack: true,
  timeoutMs: 0,
  ended: true,
});

/** Adopts subagents of another session: they report here, outside of the ledger. */
export const adopt = on('session.adopt', ({ context, event }): ActionResult => {
  const { children: given } = event;
  const { children = [], books } = context;
  const now = nowOf(event);
  const unread = unreadEnds(
    context,
    given.filter(({ ended }) => ended),
  );
  const fresh = given
    .filter(({ ended }) => !ended)
    .filter(({ id }) => !children.some((one) => one.id === id));
  const room = Math.max(0, ADOPTED_MAX - children.filter((one) => one.apart).length);
  const taken = fresh.slice(0, room).map((one) => childOf(context, one, now));
  const places = books?.concurrentMax ?? 1;
  const next = assignSlots(context, [...children, ...taken], { places, now });
  const left = detached(
    context,
    fresh.slice(room).map((one) => childOf(context, one, now)),
  );
  return {
    change: {
      ...(next.children.length > 0 ? { children: next.children } : {}),
      ...unread.change,
    },
    tells: [...next.tells, ...left, ...unread.tells],
  };
});

/** Unread ends: each is sent again, to this session. */
function unreadEnds(context: SessionContext, given: readonly AdoptedChild[]): OrphanResult {
  const { tenant, sessionKey, awaited = [] } = context;
  const room = Math.max(0, ADOPTED_MAX - awaited.length);
  const fresh = given.filter(({ id }) => !awaited.some((one) => one.id === id)).slice(0, room);
  if (fresh.length === 0) return { change: {}, tells: [] };
  const lineage = lineageOf(context);
  return {
    change: { awaited: [...awaited, ...fresh.map(({ id }) => ({ id, lineage }))] },
    tells: fresh.flatMap(({ id }) => [
      moved(tenant, id, sessionKey),
      toSubagent(context, id, { type: 'subagent.report' }),
    ]),
  };
}

/** Lineage of the run that reads the report; it may send no messages. */
const lineageOf = ({ sessionKey }: SessionContext): Lineage => ({
  hops: 2,
  visited: [sessionKey],
  left: 0,
});

function childOf(context: SessionContext, given: AdoptedChild, now: number): Child {
  const { id, reportBack, waits, timeoutMs } = given;
  const child: Child = {
    id,
    sessionKey: given.sessionKey,
    runId: '',
    going: false,
    reportBack,
    tokens: 0,
    spawns: 0,
    lineage: lineageOf(context),
    timeoutMs,
    apart: true,
  };
  return waits ? child : withSlot(child, now);
}
