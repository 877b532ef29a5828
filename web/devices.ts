/**
 * Pairing requests, approved devices and nodes, as returned by `device.pair.list`, `node.pair.list`
 * and `node.list`.
 */

/** A pairing request of `device.pair.list`. */
export type DeviceRequest = {
  readonly requestId: string;
  readonly deviceId: string;
  readonly displayName?: string;
  readonly platform?: string;
  readonly deviceFamily?: string;
  readonly clientId?: string;
  readonly clientMode?: string;
  readonly role?: string;
  readonly roles?: readonly string[];
  readonly scopes?: readonly string[];
  readonly remoteIp?: string;
  readonly ts: number;
};
export type PairedDevice = Omit<DeviceRequest, 'requestId' | 'ts'> & {
  /** the name that an operator gave it */
  readonly operatorLabel?: string;
  readonly label?: string;
  readonly lastSeenAtMs?: number;
  readonly connected?: boolean;
};
/** A request of `node.pair.list`: approve the commands of this node? */
export type NodeRequest = {
  readonly requestId: string;
  readonly nodeId: string;
  readonly displayName?: string;
  readonly platform?: string;
  readonly commands?: readonly string[];
  readonly ts?: number;
};
export type NodeRow = {
  readonly nodeId: string;
  readonly displayName?: string;
  readonly connected?: boolean;
  readonly approvalState?: string;
  readonly commands?: readonly string[];
  readonly permissions?: Readonly<Record<string, unknown>>;
  readonly lastSeenAtMs?: number;
};

export type Devices = {
  readonly pending: readonly DeviceRequest[];
  readonly paired: readonly PairedDevice[];
  readonly nodePending: readonly NodeRequest[];
  readonly nodes: readonly NodeRow[];
};

export const noDevices: Devices = { pending: [], paired: [], nodePending: [], nodes: [] };

/** The panel exists if the gateway offers these methods. */
export const DEVICES_METHOD = 'device.pair.list';

/** Requests that wait for an operator. */
export const questionsOf = ({ pending, nodePending }: Devices): number =>
  pending.length + nodePending.length;

export const nameOf = (device: {
  readonly operatorLabel?: string;
  readonly label?: string;
  readonly displayName?: string;
  readonly deviceId?: string;
  readonly nodeId?: string;
}): string =>
  device.operatorLabel ??
  device.label ??
  device.displayName ??
  (device.deviceId ?? device.nodeId ?? '').slice(0, 12);

/** The device's description of itself in one line. */
export const faceOf = (device: Partial<DeviceRequest>): string =>
  [device.clientId, device.clientMode, device.platform, device.deviceFamily, device.remoteIp]
    .filter((part, at, all) => part && all.indexOf(part) === at)
    .join(' · ');

export const rolesOf = ({ roles, role }: Partial<DeviceRequest>): string =>
  (roles ?? (role ? [role] : [])).join(', ');

type Request = (method: string, params: object) => Promise<unknown>;

/** Reads the lists that the gateway offers. @throws TroupeError */
export const readDevices = async (
  request: Request,
  offers: (method: string) => boolean,
): Promise<Devices> => {
  const read = async <T>(method: string, otherwise: T): Promise<T> =>
    offers(method) ? ((await request(method, {})) as T) : otherwise;
  const [devices, nodes, questions] = await Promise.all([
    read('device.pair.list', { pending: noDevices.pending, paired: noDevices.paired }),
    read('node.list', { nodes: noDevices.nodes }),
    read('node.pair.list', { pending: noDevices.nodePending }),
  ]);
  return {
    pending: devices.pending,
    paired: devices.paired,
    nodePending: questions.pending,
    nodes: nodes.nodes,
  };
};
