/** Row: the index row of a device, derived from its context. */
import {
  type DeviceRow,
  DEVICES_INDEX,
  devicesTopic,
  type DeviceNotice,
  type NodeState,
} from '../../protocols/device.ts';
import type { Message, Project, Publish } from '../../protocols/statechart.ts';
import type { DeviceContext } from './types.ts';

export const rowOf = (context: DeviceContext): DeviceRow => {
  const { deviceId, publicKey, face, name, createdAt, roles, requests } = context;
  const node = nodeOf(context);
  return {
    deviceId,
    publicKey,
    face,
    ...(name === null ? {} : { name }),
    createdAt,
    roles,
    requests,
    ...(node ? { node } : {}),
  };
};

const nodeOf = ({ node, invocations, waiting }: DeviceContext): NodeState | undefined => {
  if (node === null) return undefined;
  const { surface, approved, approvedAt, request, link, lastSeenAt } = node;
  return {
    surface,
    approved,
    ...(approvedAt === null ? {} : { approvedAt }),
    ...(request ? { request } : {}),
    ...(link ? { link } : {}),
    lastSeenAt,
    invoking: invocations.length,
    waiting: waiting.length,
  };
};

/** Whether a reader of the row would see a difference. */
export const isSeen = (before: DeviceContext, after: DeviceContext): boolean =>
  SEEN.some((field) => before[field] !== after[field]) ||
  before.invocations.length !== after.invocations.length ||
  before.waiting.length !== after.waiting.length;
const SEEN = ['publicKey', 'face', 'name', 'roles', 'requests', 'node'] as const;

export const project = (context: DeviceContext): Project => ({
  index: DEVICES_INDEX,
  key: context.deviceId,
  value: rowOf(context),
});
export const unproject = ({ context }: { context: DeviceContext }): Project => ({
  index: DEVICES_INDEX,
  key: context.deviceId,
  value: null,
});

export const published = ({ tenant }: DeviceContext, notice: DeviceNotice): Publish => ({
  topic: devicesTopic(tenant),
  event: notice satisfies Message,
});
