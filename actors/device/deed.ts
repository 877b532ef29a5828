/**
 * Deed: what one named action of the device's chart changes, and what it asks of the host. Deeds
 * are pure functions of context and event; the chart says when. The row follows by itself.
 */
import type { DeviceChanged, DeviceNotice } from '../../protocols/device.ts';
import type { ErrorCode } from '../../protocols/errors.ts';
import { APPROVER_ROLE } from '../../protocols/approval.ts';
import type { Meta, Reply, ReplyRef } from '../../protocols/statechart.ts';
import type { DeviceContext, DeviceEvent, DeviceEventOf } from './types.ts';

/** What a deed is a function of. Timers carry `meta`, too: the host sends it. */
export type At = { readonly context: DeviceContext; readonly event: DeviceEvent };

export type Deed = {
  readonly change?: Partial<DeviceContext>;
  readonly answers?: readonly Reply[];
  /** for every gateway of the tenant */
  readonly notices?: readonly DeviceNotice[];
};

/** The event, in an action that only it leads to. */
export const heard = <T extends DeviceEvent['type']>({ event }: At, _type: T): DeviceEventOf<T> =>
  event as DeviceEventOf<T>;

export const nowOf = ({ event }: At): number => event.meta.now;

// ---- who says it

/** People decide, through a door; what an actor tells is no person's word, whoever caused it. */
export const isByOperator = ({ event: { meta } }: At): boolean =>
  meta.from === undefined && (meta.principal?.roles.includes(APPROVER_ROLE) ?? false);
export const personOf = ({ principal }: Meta): string => principal?.sub ?? 'somebody';

// ---- what is told

export const answer = ({ event }: At, result: unknown): Reply => ({
  to: event.meta.reply,
  result,
});

export const refuse = (
  { event }: At,
  code: ErrorCode,
  message: string,
  details?: Record<string, unknown>,
): Deed => ({ answers: [refusal(event.meta.reply, code, message, details)] });

export const refusal = (
  to: ReplyRef | undefined,
  code: ErrorCode,
  message: string,
  details?: Record<string, unknown>,
): Reply => ({ to, error: { code, message, ...(details ? { details } : {}) } });

/** What somebody sent, short enough for a message. */
export const shown = (value: unknown): string => String(value).slice(0, 80);

/** It is not for an actor, or for a person without the role, to say. */
export const forbidden = (at: At): Deed =>
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
