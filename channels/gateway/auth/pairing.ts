/**
 * Rights of an authenticated client: its scopes, and whether its device is approved. It reads the
 * device's row. If that does not suffice, it asks the device actor, and an operator decides.
 *
 * Invariants: no client gets a scope that its device was not granted. At most STRANGERS_MAX unknown
 * devices wait for approval, and they never block approved devices. A token is sent once, to its
 * device.
 */
import { defined } from '../../../protocols/defined.ts';
import {
  type DeviceAsk,
  type DeviceAsked,
  type DeviceFace,
  type DeviceGrant,
  type DeviceRow,
  deviceAddress,
  DEVICES_INDEX,
  DEVICES_MAX,
  type PairingReason,
  STRANGERS_MAX,
  STRANGERS_PER_IP_MAX,
} from '../../../protocols/device.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { type ConnectErrorCode, SCOPES, type Scope } from '../../../protocols/gateway/index.ts';
import { plainName } from '../../../protocols/plain-text.ts';
import type { Clock, Principal } from '../../../runtime/index.ts';
import type { GatewayAuth } from './access.ts';
import type { ConnectingClient, Identity } from './credentials.ts';
import { hashOfToken, newDeviceToken } from '../../../operations/devices/device-tokens.ts';
import type { TenantScope } from '../tenant/tenant-scope.ts';
import { ACCEPT_TIMEOUT_MS } from '../limits.ts';
import { networkOf } from './client-address.ts';
import { includesScope } from '../../../operations/devices/scopes.ts';

export type Admitted = {
  readonly ok: true;
  /** empty for a node */
  readonly scopes: readonly Scope[];
  /** a token that was just created */
  readonly deviceToken?: string;
  /** of the device's current token */
  readonly tokenHash?: string;
};
export type AdmissionRefusal = {
  readonly ok: false;
  readonly code: ConnectErrorCode;
  readonly message: string;
  readonly details?: object;
};

/** The tenant of the devices. */
export type PairingScope = TenantScope & { readonly clock: Clock };

/** The gateway itself, when it sends messages about a client that it has just accepted. */
const GATEWAY: Principal = { sub: 'gateway', roles: ['operator'] };

type Client = Omit<ConnectingClient, 'rowIn'> & {
  readonly shown: Identity;
  /** the device's row in the client's tenant */
  readonly row: DeviceRow | undefined;
};

/** @throws TroupeError when the device actor does not answer or refuses */
export const admit = async (
  scope: PairingScope,
  auth: GatewayAuth,
  client: Client,
): Promise<Admitted | AdmissionRefusal> => {
  const { params, role, remote, shown } = client;
  if (params.device === undefined) {
    const { deviceIdentity = 'optional' } = auth;
    const mustProve =
      role === 'node' ||
      deviceIdentity === 'always' ||
      (deviceIdentity === 'remote' && !remote.isLocal);
    if (!mustProve) return { ok: true, scopes: scopesOrAll(params.scopes, SCOPES) };
    const who = role === 'node' ? 'a node' : 'gateway.auth.deviceIdentity: who connects from here';
    const message = `device identity required: ${who} must sign with the key of its device`;
    return { ok: false, code: 'DEVICE_IDENTITY_REQUIRED', message };
  }
  // A proxy authenticates the user at each connect; a pairing would outlive that.
  const isAuthenticatedElsewhere = shown.method === 'trusted-proxy' || shown.method === 'tailscale';
  if (role === 'operator' && isAuthenticatedElsewhere)
    return { ok: true, scopes: scopesOrAll(params.scopes, SCOPES) };
  return admitDevice(scope, auth, client, params.device);
};

/**
 * Clients on this machine with the right secret need no operator, unless `gateway.auth.allowLocal`
 * is off.
 */
export const isApprovedAutomatically = (
  { allowLocal = true }: GatewayAuth,
  { isLocal }: Pick<ConnectingClient['remote'], 'isLocal'>,
  { method }: Pick<Identity, 'method'>,
): boolean => allowLocal && isLocal && method !== 'device-token';

/** The requested scopes that exist; all scopes when the client requests none. */
const scopesOrAll = (
  scopes: readonly string[] | undefined,
  all: readonly Scope[],
): readonly Scope[] =>
  scopes === undefined || scopes.length === 0
    ? all
    : SCOPES.filter((scope) => scopes.includes(scope));

const admitDevice = async (
  scope: PairingScope,
  auth: GatewayAuth,
  client: Client,
  { id, publicKey }: { readonly id: string; readonly publicKey: string },
): Promise<Admitted | AdmissionRefusal> => {
  const { params, role, row, shown, remote } = client;
  const grant = row?.roles[role];
  const wanted =
    role === 'node' ? [] : scopesOrAll(params.scopes, grant ? knownScopes(grant.scopes) : SCOPES);
  if (grant && includesAll(grant.scopes, wanted) && isSameMachine(row.face, faceOf(client))) {
    const token = shown.method === 'device-token' ? grant.tokenScopes : undefined;
    if (token === undefined || includesAll(token, wanted)) {
      return withToken(scope, id, role, grant, wanted, shown);
    }
    if (!params.scopes?.length) return withToken(scope, id, role, grant, knownScopes(token), shown);
    const message = 'the token of this device may not do all that was asked for: ask for less';
    return { ok: false, code: 'AUTH_SCOPE_MISMATCH', message };
  }
  const isApproved = isApprovedAutomatically(auth, remote, shown);
  if (row === undefined) {
    const full = await whyFull(scope, !isApproved, faceOf(client).ip);
    if (full !== undefined) {
      const message = `pairing required, but ${full}`;
      return { ok: false, code: 'PAIRING_REQUIRED', message, details: { reason: 'not-paired' } };
    }
  }
  const answer = await askDevice<DeviceAsked>(scope, id, {
    type: 'device.ask',
    publicKey: publicKey.replace(/=+$/, ''),
    role,
    scopes: [...wanted],
    face: faceOf(client),
    ...(isApproved ? { approved: true } : {}),
  });
  if (answer.state === 'pending') return pending(client, id, wanted, answer);
  const now = scope.system.index.get<DeviceRow>(DEVICES_INDEX, scope.tenant, id)?.roles[role];
  return withToken(scope, id, role, now, wanted, shown);
};

const knownScopes = (scopes: readonly string[]): readonly Scope[] =>
  SCOPES.filter((scope) => scopes.includes(scope));

const includesAll = (granted: readonly string[], wanted: readonly Scope[]): boolean =>
  wanted.every((scope) => includesScope(knownScopes(granted), scope));

/** The approval applies to one platform and device family; a change needs another approval. */
const isSameMachine = (seen: DeviceFace, said: DeviceFace): boolean =>
  (['platform', 'deviceFamily'] as const).every(
    (field) =>
      seen[field] === undefined || said[field] === undefined || seen[field] === said[field],
  );

/**
 * Creates a token if the device has none for its role. It is returned only if the actor stored it.
 */
const withToken = async (
  scope: PairingScope,
  id: string,
  role: Client['role'],
  grant: DeviceGrant | undefined,
  scopes: readonly Scope[],
  shown: Identity,
): Promise<Admitted> => {
  const has = grant?.tokenHash;
  if (has !== undefined || shown.method === 'device-token') {
    return { ok: true, scopes, ...defined({ tokenHash: has }) };
  }
  const deviceToken = newDeviceToken();
  const tokenHash = hashOfToken(deviceToken);
  const { taken } = await askDevice<{ taken: boolean }>(scope, id, {
    type: 'device.token',
    role,
    hash: tokenHash,
  });
  return taken ? { ok: true, scopes, deviceToken, tokenHash } : { ok: true, scopes };
};

const REASONS: Readonly<Record<PairingReason, readonly [message: string, hint: string]>> = {
  'not-paired': ['device is not approved yet', 'Approve this device'],
  'role-upgrade': [
    'device is asking for a higher role than currently approved',
    'Review the requested role upgrade, then approve it',
  ],
  'scope-upgrade': [
    'device is asking for more scopes than currently approved',
    'Review the requested scopes, then approve them',
  ],
  'metadata-upgrade': [
    'device identity changed and must be re-approved',
    'Review the refreshed device details, then approve them',
  ],
};

/** The refusal in the form that OpenClaw's clients parse. */
const pending = (
  { role, row }: Client,
  deviceId: string,
  requestedScopes: readonly Scope[],
  { requestId, reason }: Extract<DeviceAsked, { state: 'pending' }>,
): AdmissionRefusal => {
  const [what, hint] = REASONS[reason];
  return {
    ok: false,
    code: 'PAIRING_REQUIRED',
    message: `pairing required: ${what} (requestId: ${requestId})`,
    details: {
      reason,
      requestId,
      remediationHint: `${hint}: troupe devices approve ${requestId}`,
      recommendedNextStep: 'wait_then_retry',
      deviceId,
      requestedRole: role,
      requestedScopes,
      approvedRoles: Object.keys(row?.roles ?? {}),
      approvedScopes: row?.roles[role]?.scopes ?? [],
    },
  };
};

/**
 * Why no other device can be stored; undefined when one can. Pending devices have their own limits,
 * in total and per network.
 */
const whyFull = async (
  { system, tenant, clock }: PairingScope,
  needsApproval: boolean,
  ip: string | undefined,
): Promise<string | undefined> => {
  const now = clock.wallMs();
  const network = networkOf(ip ?? '');
  let [all, waiting, ofAddress] = [0, 0, 0];
  await system.index.scan<DeviceRow, 'roles' | 'requests' | 'face'>(
    DEVICES_INDEX,
    tenant,
    { fields: ['roles', 'requests', 'face'] },
    ({ roles, requests, face }) => {
      all++;
      if (Object.keys(roles).length > 0 || !requests.some(({ expiresAt }) => expiresAt > now))
        return;
      waiting++;
      if (networkOf(face.ip ?? '') === network) ofAddress++;
    },
  );
  if (all >= DEVICES_MAX) return 'there are too many devices: remove some, see troupe devices';
  if (!needsApproval) return undefined;
  return waiting >= STRANGERS_MAX || ofAddress >= STRANGERS_PER_IP_MAX
    ? 'too many devices wait for approval: decide them, see troupe devices'
    : undefined;
};

/** The client's description of itself, cleaned for display and truncated for the row. */
const faceOf = ({ params: { client }, remote }: Client): DeviceFace => {
  const said: [keyof DeviceFace, string | undefined, number][] = [
    ['name', client.displayName, 120],
    ['clientId', client.id, 64],
    ['clientMode', client.mode, 32],
    ['version', client.version, 64],
    ['platform', client.platform, 64],
    ['deviceFamily', client.deviceFamily, 64],
    ['modelIdentifier', client.modelIdentifier, 64],
    ['ip', remote.isLocal ? undefined : remote.address, 64],
  ];
  const face: { -readonly [K in keyof DeviceFace]: DeviceFace[K] } = {};
  for (const [key, value, most] of said) {
    const text = value === undefined ? '' : plainName(value, most);
    if (text) face[key] = text;
  }
  return face;
};

const askDevice = async <Result>(
  { system, tenant }: TenantScope,
  id: string,
  message: DeviceAsk | { type: 'device.token'; role: Client['role']; hash: string },
): Promise<Result> => {
  const options = { principal: GATEWAY, timeoutMs: ACCEPT_TIMEOUT_MS };
  const answer = await system.ask(deviceAddress(tenant, id), message, options);
  if (answer.kind === 'answered') return answer.result as Result;
  if (answer.kind === 'refused') throw TroupeError.from(answer.error);
  throw new TroupeError('UNAVAILABLE', 'the record of this device does not answer: try again', {
    retryAfterMs: 1_000,
  });
};
