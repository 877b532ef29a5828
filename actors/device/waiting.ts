/** Waiting: the pure parts of the work items that wait until a node fetches them. */
import { checker, describeErrors } from '../../protocols/check.ts';
import {
  type DeviceDrained,
  DeviceEnqueueSchema,
  type DeviceWork,
  WAITING_CHARACTERS_MAX,
  WAITING_MAX,
  type WaitingItem,
} from '../../protocols/device.ts';
import { answer, type ActionResult, on, nowOf, refuse } from './action-result.ts';
import type { DeviceContext } from './types.ts';

const checkEnqueue = checker(DeviceEnqueueSchema);

export const enqueue = on('device.enqueue', (at): ActionResult => {
  const { meta: _, ...asked } = at.event;
  const checked = checkEnqueue(asked);
  if (!checked.ok) {
    const problem = describeErrors(checked.errors);
    return refuse(at, 'INVALID_ARGUMENT', `this cannot wait for the device: ${problem}`);
  }
  const { context } = at;
  const { deviceId, roles, waiting } = context;
  const { type: __, itemId, expiresInMs, ...item } = checked.value;
  if (roles.node === undefined)
    return refuse(at, 'FORBIDDEN', `device ${deviceId} is not approved as a node`);
  if (waiting.some((one) => one.itemId === itemId))
    return { answers: [answer(at, { itemId, waiting: waiting.length })] };
  const added: WaitingItem = {
    ...item,
    itemId,
    queuedAt: nowOf(at.event),
    expiresAt: nowOf(at.event) + expiresInMs,
  };
  const all = [...waiting, added];
  if (all.length > WAITING_MAX || charactersOf(all) > WAITING_CHARACTERS_MAX) {
    const message = `${waiting.length} items wait for device ${deviceId}, and there is no room for more`;
    return refuse(at, 'RATE_LIMIT_EXCEEDED', message);
  }
  return {
    change: { waiting: all },
    answers: [answer(at, { itemId, waiting: all.length })],
    notices: workFor({ ...context, waiting: all }),
  };
});
const charactersOf = (items: readonly WaitingItem[]): number =>
  items.reduce((sum, { payloadJson = '' }) => sum + payloadJson.length, 0);

/** Notifies the gateway of the node's connection. */
export const workFor = ({ deviceId, node, waiting }: DeviceContext): DeviceWork[] =>
  node?.link && waiting.length > 0
    ? [{ type: 'device.work', deviceId, connId: node.link.connId }]
    : [];

const URGENCY = { high: 0, normal: 1, low: 2 } as const;

/** The most urgent first, then the oldest. */
export const drain = on('device.drain', (at): ActionResult => {
  const live = at.context.waiting.filter(({ expiresAt }) => expiresAt > nowOf(at.event));
  const { max } = at.event;
  const shown = Number.isInteger(max) && max > 0 ? max : 0;
  const ordered = live.toSorted((a, b) => URGENCY[a.priority] - URGENCY[b.priority]);
  const drained: DeviceDrained = { items: ordered.slice(0, shown), more: live.length > shown };
  return { answers: [answer(at, drained)] };
});

export const ack = on('device.ack', (at): ActionResult => {
  const { itemIds } = at.event;
  const ids = new Set(Array.isArray(itemIds) ? itemIds : []);
  const waiting = at.context.waiting.filter(({ itemId }) => !ids.has(itemId));
  const acked = at.context.waiting.length - waiting.length;
  return { change: { waiting }, answers: [answer(at, { acked })] };
});

export const sweep = (context: DeviceContext, now: number): ActionResult => ({
  change: { ...context, waiting: context.waiting.filter(({ expiresAt }) => expiresAt > now) },
});

/** The times at which work is due; [] when no item waits. */
export const times = ({ waiting }: DeviceContext): number[] =>
  waiting.map(({ expiresAt }) => expiresAt);
