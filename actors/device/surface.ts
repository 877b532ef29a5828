/**
 * A device as a node: its offered commands, those that operators approved, and its connection.
 * Pure.
 *
 * Invariants: an approval persists; a name without approval is never invoked; of several
 * connections the newest counts.
 */
import { checker, describeErrors } from '../../protocols/check.ts';
import {
  type DeviceLinked,
  type DeviceNotice,
  type DeviceOnline,
  DeviceOnlineSchema,
  SURFACE_CHARACTERS_MAX,
} from '../../protocols/device.ts';
import {
  answer,
  type ActionArgs,
  changed,
  type ActionResult,
  forbidden,
  on,
  isByOperator,
  nowOf,
  refuse,
  shown,
} from './action-result.ts';
import { comeBack, cutOff, deliverPending } from './invocations.ts';
import { faceWith } from './pairing.ts';
import { rowOf } from './row.ts';
import type { DeviceContext, NodeFacts } from './types.ts';
import { workFor } from './waiting.ts';

/**
 * Approved names, including those that the node does not offer now.
 */
const APPROVED_MAX = 400;

// ---- connections

const checkOnline = checker(DeviceOnlineSchema);
const problemOf = ({ event: { meta, ...online } }: ActionArgs): string | undefined => {
  const checked = checkOnline(online);
  if (!checked.ok) return describeErrors(checked.errors);
  const { length } = JSON.stringify(checked.value.surface);
  if (length > SURFACE_CHARACTERS_MAX)
    return `/surface has ${length} characters, at most ${SURFACE_CHARACTERS_MAX} are kept`;
  return meta.from === undefined ? undefined : 'only a gateway connects nodes';
};
export const mayJoin = (at: ActionArgs): boolean =>
  at.context.roles.node !== undefined && problemOf(at) === undefined;
export const refuseJoin = (at: ActionArgs): ActionResult => {
  const problem = problemOf(at);
  return problem === undefined
    ? refuse(at, 'FORBIDDEN', `device ${at.context.deviceId} is not approved as a node`)
    : refuse(at, 'INVALID_ARGUMENT', `the node cannot be connected: ${problem}`);
};

export const join = on('device.online', (at): ActionResult => {
  const { context } = at;
  const online = at.event;
  const now = nowOf(at.event);
  const before = context.node?.link ?? null;
  const isNew = before?.connId !== online.connId;
  const left: ActionResult = isNew
    ? comeBack(context, now, online.replays ?? false)
    : { change: context };
  const offered = offer(at, online);
  const node: NodeFacts = {
    ...offered.node,
    link: isNew ? { gateway: online.gateway, connId: online.connId, since: now } : before,
    replays: isNew ? (online.replays ?? false) : (context.node?.replays ?? false),
    lastSeenAt: now,
  };
  const face = faceWith(context.face, online.face);
  const again = deliverPending({ ...context, ...left.change, node, face }, now);
  return {
    change: again.change!,
    answers: [...(left.answers ?? []), answer(at, linked(node))],
    notices: [
      ...offered.notices,
      ...(isNew ? [changed(context, 'online', { connId: online.connId })] : []),
      ...(again.notices ?? []),
      ...workFor({ ...context, node }),
    ],
  };
});

const linked = ({ request }: NodeFacts): DeviceLinked =>
  request ? { surface: 'pending', requestId: request.requestId } : { surface: 'approved' };

/** What the device offers now, and whether that requires approval. */
const offer = (
  at: ActionArgs,
  { surface, approved: allApproved = false }: DeviceOnline,
): {
  node: Pick<NodeFacts, 'surface' | 'approved' | 'approvedAt' | 'request'>;
  notices: DeviceNotice[];
} => {
  const { context } = at;
  const { approved = [], approvedAt = null, request = null } = context.node ?? {};
  const names = surface.commands.map(({ name }) => name);
  const fresh = names.filter((name) => !approved.includes(name));
  if (fresh.length === 0)
    return { node: { surface, approved, approvedAt, request: null }, notices: [] };
  if (allApproved) {
    const all = approvedWith(approved, names);
    const node = { surface, approved: all, approvedAt: nowOf(at.event), request: null };
    return { node, notices: [changed(context, 'surface-approved')] };
  }
  if (request && fresh.every((name) => request.commands.includes(name))) {
    const rest =
      fresh.length === request.commands.length ? request : { ...request, commands: fresh };
    return { node: { surface, approved, approvedAt, request: rest }, notices: [] };
  }
  const requestId = at.event.meta.id;
  const asked = { requestId, at: nowOf(at.event), commands: fresh };
  const notices = [changed(context, 'surface-requested', { requestId })];
  return { node: { surface, approved, approvedAt, request: asked }, notices };
};

/** Keeps the newest ones if there are too many. */
const approvedWith = (approved: readonly string[], names: readonly string[]): readonly string[] =>
  [...approved.filter((name) => !names.includes(name)), ...names].slice(-APPROVED_MAX);

// ---- ends of connections

export const isItsLink = on(
  'device.offline',
  (at): boolean => at.context.node?.link?.connId === at.event.connId,
);

export const part = (at: ActionArgs): ActionResult => {
  const now = nowOf(at.event);
  const result = unlinked(at.context, now, (context) => cutOff(context, now));
  return { ...result, answers: [...result.answers!, answer(at, { offline: true })] };
};
const partedFrom = (context: DeviceContext): DeviceNotice[] => {
  const { connId } = context.node?.link ?? {};
  return connId === undefined ? [] : [changed(context, 'offline', { connId })];
};
export const replyOtherLink = (at: ActionArgs): ActionResult => ({
  answers: [answer(at, { offline: false })],
});

/** The node without a connection; `ends` determines how its commands end. */
export const unlinked = (
  context: DeviceContext,
  now: number,
  ends: (context: DeviceContext) => ActionResult,
): ActionResult => {
  const { change, answers = [], notices = [] } = ends(context);
  const node: NodeFacts = { ...context.node!, link: null, lastSeenAt: now };
  return {
    change: { ...change, node },
    answers,
    notices: [...notices, ...partedFrom(context)],
  };
};

// ---- decisions of operators

export const isSurfaceAsked = ({ context }: Pick<ActionArgs, 'context'>): boolean =>
  (context.node?.request ?? null) !== null;
export const isSurfaceKnown = ({ context }: Pick<ActionArgs, 'context'>): boolean =>
  context.node !== null;

export const decidesSurface = on(
  ['device.surface.approve', 'device.surface.reject'],
  (at): boolean =>
    isByOperator(at) &&
    isSurfaceAsked(at) &&
    at.context.node?.request?.requestId === at.event.requestId,
);

const decided = (
  at: ActionArgs,
  what: 'surface-approved' | 'surface-rejected',
  change: Partial<NodeFacts>,
): ActionResult => {
  const { context } = at;
  const { requestId } = context.node!.request!;
  const node: NodeFacts = { ...context.node!, request: null, ...change };
  return {
    change: { node },
    answers: [answer(at, rowOf({ ...context, node }))],
    notices: [changed(context, what, { requestId })],
  };
};

export const approveSurface = (at: ActionArgs): ActionResult => {
  const { approved, request } = at.context.node!;
  return decided(at, 'surface-approved', {
    approved: approvedWith(approved, request!.commands),
    approvedAt: nowOf(at.event),
  });
};
/** The node requests approval again at its next connection. */
export const rejectSurface = (at: ActionArgs): ActionResult => decided(at, 'surface-rejected', {});

export const refuseSurface = on(
  ['device.surface.approve', 'device.surface.reject'],
  (at): ActionResult => {
    if (!isByOperator(at)) return forbidden(at);
    const { requestId } = at.event;
    return refuse(
      at,
      'NOT_FOUND',
      `the node ${at.context.deviceId} has no request ${shown(requestId)}: it was ` +
        'answered, or it offers something else now; `troupe nodes list` shows those that wait',
    );
  },
);
