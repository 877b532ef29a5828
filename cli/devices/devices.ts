/**
 * `troupe devices`: lists pairing requests and approved devices, approves, rejects and removes
 * them.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type {
  GatewayMethodName,
  GatewayParams,
  GatewayResult,
  PairedDevice,
  PendingDevice,
} from '../../protocols/gateway/index.ts';
import { exitCodes } from '../exit.ts';
import { type ClientOptions, withGateway } from '../options.ts';
import { ago, table } from '../../operations/text.ts';
import { printJson } from '../output.ts';

export type DevicesOptions = ClientOptions;
export type RoleOptions = DevicesOptions & { readonly role: string };
export type RotateOptions = RoleOptions & { readonly scope?: readonly string[] };

export async function list(options: DevicesOptions): Promise<number> {
  const listed = await call(options, 'device.pair.list', {});
  if (options.json) printJson(listed);
  else process.stdout.write(listing(listed));
  return exitCodes.ok;
}

const listing = ({ pending, paired }: GatewayResult<'device.pair.list'>): string => {
  if (pending.length + paired.length === 0) return 'no devices\n';
  const now = Date.now();
  const parts: string[] = [];
  if (pending.length > 0) {
    const head = ['request', 'device', 'role', 'scopes', 'from', 'requested', 'name'];
    parts.push(`pairing requests (troupe devices approve REQUEST)\n`);
    parts.push(
      table(
        head,
        pending.map((request) => requestCells(request, now)),
      ),
    );
  }
  if (paired.length > 0) {
    if (parts.length > 0) parts.push('\n');
    const head = ['device', 'roles', 'scopes', 'tokens', 'connected', 'since', 'name'];
    parts.push(
      table(
        head,
        paired.map((device) => deviceCells(device, now)),
      ),
    );
  }
  return parts.join('');
};

const requestCells = (request: PendingDevice, now: number): string[] => [
  request.requestId,
  request.deviceId,
  request.role,
  request.scopes.map(short).join(', '),
  request.remoteIp ?? 'this machine',
  `${ago(now - request.ts)} ago`,
  request.displayName ?? request.clientId ?? '',
];

const deviceCells = (device: PairedDevice, now: number): string[] => [
  device.deviceId,
  device.roles.join(', '),
  device.scopes.map(short).join(', '),
  device.tokens
    .map(({ role, revokedAtMs }) => (revokedAtMs === undefined ? role : `${role} (revoked)`))
    .join(', '),
  device.connected ? 'yes' : '',
  `${ago(now - device.approvedAtMs)} ago`,
  device.displayName ?? device.clientId ?? '',
];

const short = (scope: string): string => scope.replace(/^operator\./, '');

export async function approve(requestId: string, options: DevicesOptions): Promise<number> {
  const done = await call(options, 'device.pair.approve', { requestId });
  return report(options, done, `${labelOf(done.device)} is approved as ${done.device.role}\n`);
}

export async function reject(requestId: string, options: DevicesOptions): Promise<number> {
  const done = await call(options, 'device.pair.reject', { requestId });
  return report(options, done, `${done.deviceId} is rejected\n`);
}

export async function remove(device: string, options: DevicesOptions): Promise<number> {
  const { deviceId } = await deviceOf(device, options);
  const done = await call(options, 'device.pair.remove', { deviceId });
  return report(
    options,
    done,
    `${done.deviceId} is removed; its tokens are invalid and its connections closed\n`,
  );
}

export async function rename(
  device: string,
  label: string,
  options: DevicesOptions,
): Promise<number> {
  const { deviceId } = await deviceOf(device, options);
  const done = await call(options, 'device.pair.rename', { deviceId, label });
  return report(options, done, `${done.deviceId} is now named ${done.label}\n`);
}

/** The token is shown once: the gateway stores only its hash. */
export async function rotate(device: string, options: RotateOptions): Promise<number> {
  const { deviceId } = await deviceOf(device, options);
  const { role, scope } = options;
  const done = await call(options, 'device.token.rotate', {
    deviceId,
    role,
    ...(scope === undefined ? {} : { scopes: [...scope] }),
  });
  const text = `the old token of ${deviceId} is invalid; the new one, shown once:\n${done.token}\n`;
  return report(options, done, text);
}

export async function revoke(device: string, options: RoleOptions): Promise<number> {
  const { deviceId } = await deviceOf(device, options);
  const done = await call(options, 'device.token.revoke', { deviceId, role: options.role });
  return report(options, done, `the ${done.role} token of ${deviceId} is revoked\n`);
}

const report = (options: DevicesOptions, done: object, text: string): number => {
  if (options.json) printJson(done);
  else process.stdout.write(text);
  return exitCodes.ok;
};

const labelOf = ({ displayName, clientId, deviceId }: PairedDevice): string =>
  displayName ?? clientId ?? deviceId;

/**
 * Finds a device by its id, a prefix of it, or its name. @throws TroupeError NOT_FOUND, CONFLICT
 */
const deviceOf = async (
  given: string,
  options: DevicesOptions,
): Promise<{ readonly deviceId: string }> => {
  if (/^[0-9a-f]{64}$/.test(given)) return { deviceId: given };
  const { paired } = await call(options, 'device.pair.list', {});
  const found = paired.filter(
    ({ deviceId, displayName }) =>
      displayName === given || (given.length >= 6 && deviceId.startsWith(given)),
  );
  if (found.length === 1) return found[0]!;
  if (found.length > 1) {
    const message = `${found.length} devices match ${given}: use more of the id`;
    throw new TroupeError('CONFLICT', message);
  }
  throw new TroupeError('NOT_FOUND', `no device matches ${given}: see troupe devices list`);
};

const call = <M extends GatewayMethodName>(
  options: DevicesOptions,
  method: M,
  params: GatewayParams<M>,
): Promise<GatewayResult<M>> => withGateway(options, (client) => client.request(method, params));
