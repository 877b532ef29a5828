/**
 * ActionResult: what a named action of the device's chart changes, and what it requests from the
 * host. Actions are pure functions of context and event; the chart decides when they run. The row
 * is derived from the context.
 */
import type { DeviceChanged, DeviceNotice } from '../../protocols/device.ts';
import type { ErrorCode } from '../../protocols/errors.ts';
import { APPROVER_ROLE } from '../../protocols/approval.ts';
import type { Meta, Reply, ReplyRef } from '../../protocols/statechart.ts';
import type { DeviceContext, DeviceEvent, DeviceEventOf } from './types.ts';

/** What a deed is a function of. Timers carry `meta`, too: the host sends it. */
export type ActionArgs = { readonly context: DeviceContext; readonly event: DeviceEvent };

export type ActionResult = {
  readonly change?: Partial<DeviceContext>;
  readonly answers?: readonly Reply[];
  /** for every gateway of the tenant */
  readonly notices?: readonly DeviceNotice[];
};

/** The event, in an action that only it leads to. */
export const heard = <T extends DeviceEvent['type']>(
  { event }: ActionArgs,
  _type: T,
): DeviceEventOf<T> => event as DeviceEventOf<T>;

export const nowOf = ({ event }: ActionArgs): number => event.meta.now;

// ---- who says it

/** People decide, through a door; what an actor tells is no person's word, whoever caused it. */
export const isByOperator = ({ event: { meta } }: ActionArgs): boolean =>
  meta.from === undefined && (meta.principal?.roles.includes(APPROVER_ROLE) ?? false);
export const personOf = ({ principal }: Meta): string => principal?.sub ?? 'somebody';

// ---- what is told

export const answer = ({ event }: ActionArgs, result: unknown): Reply => ({
  to: event.meta.reply,
  result,
});

export const refuse = (
  { event }: ActionArgs,
  code: ErrorCode,
  message: string,
  details?: Record<string, unknown>,
): ActionResult => ({ answers: [refusal(event.meta.reply, code, message, details)] });

export const refusal = (
  to: ReplyRef | undefined,
  code: ErrorCode,
  message: string,
  details?: Record<string, unknown>,
): Reply => ({ to, error: { code, message, ...(details ? { details } : {}) } });

/** What somebody sent, short enough for a message. */
export const shown = (value: unknown): string => String(value).slice(0, 80);

/** It is not for an actor, or for a person without the role, to say. */
export const forbidden = (at: ActionArgs): ActionResult =>
  refuse(
    at,
    'FORBIDDEN',
    `what becomes of device ${at.context.deviceId} is decided by a person with the role ` +
      APPROVER_ROLE,
  );

export const changed = (
  { deviceId }: DeviceContext,
  what: DeviceChanged['what'],
  about: Pick<DeviceChanged, 'requestId' | 'role' | 'connId'> = {},
): DeviceChanged => ({ type: 'device.changed', deviceId, what, ...about });
