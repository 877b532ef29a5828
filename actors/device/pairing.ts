/**
 * Pairing: the trust of a device: its approved roles and scopes, its pending request, and the
 * hashes of its tokens. Pure.
 *
 * Invariants: an authorized entry point may approve the first role; every further role, scope,
 * platform and family requires an operator. An approval adds and never removes.
 */
import { checker, describeErrors } from '../../protocols/check.ts';
import {
  DEVICE_ROLES,
  type DeviceAsk,
  type DeviceAsked,
  DeviceAskSchema,
  type DeviceFace,
  type DeviceGrant,
  deviceIdOf,
  type DeviceRole,
  PAIRING_MS,
  type PairingReason,
  type PairingRequest,
  UNPAIRED_RETENTION_MS,
} from '../../protocols/device.ts';
import type { ActorInput } from '../../protocols/statechart.ts';
import {
  answer,
  type ActionArgs,
  type ArgsOf,
  changed,
  type ActionResult,
  forbidden,
  on,
  isByOperator,
  nowOf,
  personOf,
  refuse,
  shown,
} from './action-result.ts';
import { endAll } from './invocations.ts';
import { rowOf } from './row.ts';
import type { DeviceContext } from './types.ts';

export const initialContext = ({ key, tenant, now }: ActorInput): DeviceContext => ({
  deviceId: key,
  tenant,
  createdAt: now,
  publicKey: '',
  face: {},
  name: null,
  roles: {},
  requests: [],
  askedAt: now,
  node: null,
  invocations: [],
  ended: [],
  waiting: [],
});

// ---- requests

const checkAsk = checker(DeviceAskSchema);
const problemOf = ({ context, event: { meta, ...ask } }: ActionArgs): string | undefined => {
  const checked = checkAsk(ask);
  if (!checked.ok) return describeErrors(checked.errors);
  if (meta.from !== undefined) return 'only a gateway can approve devices';
  return deviceIdOf(checked.value.publicKey) === context.deviceId
    ? undefined
    : '/publicKey is not the key of this device';
};
export const isValid = (at: ActionArgs): boolean => problemOf(at) === undefined;
export const refuseInvalid = (at: ActionArgs): ActionResult =>
  refuse(at, 'INVALID_ARGUMENT', `the device cannot be paired: ${problemOf(at)}`);

/** Why an operator has to approve; undefined if the role with all requested scopes is approved. */
const reasonOf = ({ face, roles }: DeviceContext, ask: DeviceAsk): PairingReason | undefined => {
  const grant = roles[ask.role];
  if (grant === undefined) return isTrusted({ roles }) ? 'role-upgrade' : 'not-paired';
  if (!ask.scopes.every((scope) => includes(grant.scopes, scope))) return 'scope-upgrade';
  return isOther(face.platform, ask.face.platform) ||
    isOther(face.deviceFamily, ask.face.deviceFamily)
    ? 'metadata-upgrade'
    : undefined;
};
const isOther = (approved: string | undefined, said: string | undefined): boolean =>
  approved !== undefined && said !== undefined && approved !== said;

/** The scope `admin` of an operator includes every scope, and `write` includes `read`. */
const includes = (granted: readonly string[], scope: string): boolean =>
  granted.includes(scope) ||
  (scope.startsWith('operator.') && granted.includes('operator.admin')) ||
  (scope === 'operator.read' && granted.includes('operator.write'));

export const isTrusted = ({ roles }: Pick<DeviceContext, 'roles'>): boolean =>
  DEVICE_ROLES.some((role) => roles[role] !== undefined);
export const isAsking = ({ requests }: Pick<DeviceContext, 'requests'>): boolean =>
  requests.length > 0;

export const isCovered = on(
  'device.ask',
  (at): boolean => isValid(at) && reasonOf(at.context, at.event) === undefined,
);
/** An entry point may approve only the first role by itself. */
export const mayEnter = on(
  'device.ask',
  (at): boolean => isValid(at) && !isTrusted(at.context) && at.event.approved === true,
);

/** The device's current report about itself, with the kind that an operator approved. */
export const faceWith = (before: DeviceFace, said: DeviceFace): DeviceFace => {
  const face = { ...before, ...said, ...pick(before, 'platform'), ...pick(before, 'deviceFamily') };
  return JSON.stringify(face) === JSON.stringify(before) ? before : face;
};
const pick = (face: DeviceFace, field: 'platform' | 'deviceFamily'): DeviceFace =>
  face[field] === undefined ? {} : { [field]: face[field] };

export const greet = on('device.ask', (at): ActionResult => {
  const { face } = at.event;
  return {
    change: { face: faceWith(at.context.face, face) },
    answers: [answer(at, { state: 'paired' } satisfies DeviceAsked)],
  };
});

export const letIn = on('device.ask', (at): ActionResult => {
  const { context } = at;
  const { publicKey, role, scopes, face } = at.event;
  const known = { ...context, publicKey, face: faceWith({}, face), askedAt: nowOf(at.event) };
  return {
    change: granted(known, { role, scopes, face }, { at: nowOf(at.event), by: 'local' }),
    answers: [answer(at, { state: 'paired' } satisfies DeviceAsked)],
    notices: [changed(context, 'approved', { role })],
  };
});

/** Requests approval. A repeat of the same request extends the time. */
export const question = on('device.ask', (at): ActionResult => {
  const { context } = at;
  const ask = at.event;
  const now = nowOf(at.event);
  const { role, scopes, face, publicKey } = ask;
  const older = context.requests.find((request) => request.role === role);
  const same = older !== undefined && isSame(older, ask);
  const request: PairingRequest = {
    requestId: same ? older.requestId : at.event.meta.id,
    role,
    scopes,
    reason: reasonOf(context, ask)!,
    at: same ? older.at : now,
    expiresAt: now + PAIRING_MS,
    face,
  };
  const { requestId, reason } = request;
  const gone = older && !same ? [changed(context, 'expired', { requestId: older.requestId })] : [];
  return {
    change: {
      publicKey,
      askedAt: now,
      face: isTrusted(context) ? context.face : face,
      requests: [...context.requests.filter((other) => other !== older), request],
    },
    answers: [answer(at, { state: 'pending', requestId, reason } satisfies DeviceAsked)],
    notices: same ? [] : [...gone, changed(context, 'requested', { requestId })],
  };
});
const isSame = (request: PairingRequest, { scopes, face }: DeviceAsk): boolean =>
  request.scopes.length === scopes.length &&
  scopes.every((scope) => request.scopes.includes(scope)) &&
  request.face.platform === face.platform &&
  request.face.deviceFamily === face.deviceFamily;

/** Adds the scopes to those of the role; a pending request for the role ends. */
const granted = (
  { roles, requests, face: known, ...rest }: DeviceContext,
  { role, scopes, face }: Pick<PairingRequest, 'role' | 'scopes' | 'face'>,
  yes: { readonly at: number; readonly by: string },
): Partial<DeviceContext> => {
  const before = roles[role];
  const grant: DeviceGrant = {
    ...before,
    scopes: [...new Set([...(before?.scopes ?? []), ...scopes])],
    approvedAt: yes.at,
    approvedBy: yes.by,
  };
  return {
    ...rest,
    face: { ...known, ...face },
    roles: { ...roles, [role]: grant },
    requests: requests.filter((request) => request.role !== role),
  };
};

// ---- decisions of operators

type Decision = ArgsOf<'device.approve' | 'device.reject'>;

const asked = (at: Decision): PairingRequest | undefined => {
  const { requestId } = at.event;
  return at.context.requests.find((request) => request.requestId === requestId);
};
export const decidesRequest = on(
  ['device.approve', 'device.reject'],
  (at): boolean => isByOperator(at) && asked(at) !== undefined,
);

export const approve = on(['device.approve', 'device.reject'], (at): ActionResult => {
  const { context, event } = at;
  const request = asked(at)!;
  const yes = { at: nowOf(at.event), by: personOf(event.meta) };
  const change = granted(context, request, yes);
  const { requestId, role } = request;
  return {
    change,
    answers: [answer(at, rowOf({ ...context, ...change }))],
    notices: [changed(context, 'approved', { requestId, role })],
  };
});

export const reject = on(['device.approve', 'device.reject'], (at): ActionResult => {
  const { context } = at;
  const request = asked(at)!;
  const { requestId, role } = request;
  const requests = context.requests.filter((other) => other !== request);
  const change = { requests, askedAt: nowOf(at.event) };
  return {
    change,
    answers: [answer(at, rowOf({ ...context, ...change }))],
    notices: [changed(context, 'rejected', { requestId, role })],
  };
});

/** Why a decision about a request is refused. */
export const refuseDecision = on(['device.approve', 'device.reject'], (at): ActionResult => {
  if (!isByOperator(at)) return forbidden(at);
  const { requestId } = at.event;
  return refuse(
    at,
    'NOT_FOUND',
    `device ${at.context.deviceId} has no request ${shown(requestId)}: it was answered, ` +
      'or is past its time; `troupe devices list` shows those that wait',
  );
});

export const remove = (at: ActionArgs): ActionResult => {
  const { deviceId } = at.context;
  const { answers = [] } = endAll(at, `device ${deviceId} was removed`);
  return {
    answers: [...answers, answer(at, { removed: deviceId })],
    notices: [changed(at.context, 'removed')],
  };
};

const NAME_CHARACTERS_MAX = 120;
const nameIn = (at: ArgsOf<'device.rename'>): string | undefined => {
  const { name } = at.event;
  const trimmed = typeof name === 'string' ? name.trim() : '';
  return trimmed === '' || trimmed.length > NAME_CHARACTERS_MAX ? undefined : trimmed;
};
export const rename = on('device.rename', (at): ActionResult => {
  if (!isByOperator(at)) return forbidden(at);
  const name = nameIn(at);
  if (name === undefined)
    return refuse(
      at,
      'INVALID_ARGUMENT',
      `a device's name has 1 to ${NAME_CHARACTERS_MAX} characters`,
    );
  return {
    change: { name },
    answers: [answer(at, rowOf({ ...at.context, name }))],
    notices: [changed(at.context, 'renamed')],
  };
});

// ---- time

export const pairingMs = ({ context, event }: ActionArgs): number =>
  Math.max(0, Math.min(...context.requests.map(({ expiresAt }) => expiresAt)) - event.meta.now);

export const expire = (at: ActionArgs): ActionResult => {
  const { context } = at;
  const over = context.requests.filter(({ expiresAt }) => expiresAt <= nowOf(at.event));
  return {
    change: { requests: context.requests.filter((request) => !over.includes(request)) },
    notices: over.map(({ requestId, role }) => changed(context, 'expired', { requestId, role })),
  };
};

export const strangerMs = ({ context, event }: ActionArgs): number =>
  Math.max(0, context.askedAt + UNPAIRED_RETENTION_MS - event.meta.now);
export const leave = ({ context }: ActionArgs): ActionResult => ({
  notices: [changed(context, 'removed')],
});

// ---- tokens

const HASH = /^[0-9a-f]{64}$/;
const grantOf = ({ roles }: DeviceContext, role: DeviceRole): DeviceGrant | undefined =>
  DEVICE_ROLES.includes(role) ? roles[role] : undefined;

export const onToken = on('device.token', (at): ActionResult => {
  const { context } = at;
  const { role, hash, replace = false, scopes } = at.event;
  if (replace && !isByOperator(at)) return forbidden(at);
  const grant = grantOf(context, role);
  if (grant === undefined) return refuseRole(at, role);
  if (!HASH.test(hash))
    return refuse(at, 'INVALID_ARGUMENT', 'send the SHA-256 of a token, not the token');
  if (scopes && !scopes.every((scope) => includes(grant.scopes, scope)))
    return refuse(at, 'FORBIDDEN', `the token would do more than the role ${role} of the device`);
  if (grant.tokenHash !== undefined && !replace)
    return { answers: [answer(at, { taken: grant.tokenHash === hash })] };
  const { tokenScopes: _, revokedAt: __, ...kept } = grant;
  const next: DeviceGrant = {
    ...kept,
    tokenHash: hash,
    tokenAt: nowOf(at.event),
    ...(scopes ? { tokenScopes: scopes } : {}),
  };
  return {
    change: { roles: { ...context.roles, [role]: next } },
    answers: [answer(at, { taken: true })],
    notices: grant.tokenHash === undefined ? [] : [changed(context, 'revoked', { role })],
  };
});

export const revoke = on('device.revoke', (at): ActionResult => {
  if (!isByOperator(at)) return forbidden(at);
  const { context } = at;
  const { role } = at.event;
  const grant = grantOf(context, role);
  if (grant === undefined) return refuseRole(at, role);
  const { tokenHash: _, tokenAt: __, tokenScopes: ___, ...kept } = grant;
  const roles = { ...context.roles, [role]: { ...kept, revokedAt: nowOf(at.event) } };
  return {
    change: { roles },
    answers: [answer(at, rowOf({ ...context, roles }))],
    notices: [changed(context, 'revoked', { role })],
  };
});

const refuseRole = (at: ActionArgs, role: string): ActionResult =>
  refuse(at, 'NOT_FOUND', `device ${at.context.deviceId} is not approved as ${shown(role)}`);

/** The device is unknown: only its own pairing request creates it. */
export const refuseUnknown = (at: ActionArgs): ActionResult =>
  refuse(
    at,
    'NOT_FOUND',
    `there is no device ${at.context.deviceId}: \`troupe devices list\` shows those that are known`,
  );
