/**
 * ActionResult: what an action of the device's chart changes, answers and publishes. The row is
 * derived from the context.
 */
import type { DeviceChanged, DeviceNotice } from '../../protocols/device.ts';
import type { ErrorCode } from '../../protocols/errors.ts';
import { APPROVER_ROLE } from '../../protocols/approval.ts';
import type { Meta, Reply, ReplyRef } from '../../protocols/statechart.ts';
import * as kit from '../kit/handlers.ts';
import type { DeviceContext, DeviceEvent, DeviceEventOf } from './types.ts';

export type ActionArgs = kit.ActionArgs<DeviceContext, DeviceEvent>;
/** The arguments of a handler of these events. */
export type ArgsOf<T extends DeviceEvent['type']> = kit.ActionArgs<DeviceContext, DeviceEventOf<T>>;
export const { on } = kit.handlersOf<DeviceContext, DeviceEvent>();
export { nowOf } from '../kit/handlers.ts';

export type ActionResult = {
  readonly change?: Partial<DeviceContext>;
  readonly answers?: readonly Reply[];
  /** for every gateway of the tenant */
  readonly notices?: readonly DeviceNotice[];
};

// ---- senders

/** Operators decide, through an entry point; a message of an actor is never a decision. */
export const isByOperator = ({ event: { meta } }: ActionArgs): boolean =>
  meta.from === undefined && (meta.principal?.roles.includes(APPROVER_ROLE) ?? false);
export const personOf = ({ principal }: Meta): string => principal?.sub ?? 'unknown';

// ---- published events

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

/** A text of a sender, shortened for an error message. */
export const shown = (value: unknown): string => String(value).slice(0, 80);

/** Refuses a decision of an actor, or of a principal without the role. */
export const forbidden = (at: ActionArgs): ActionResult =>
  refuse(
    at,
    'FORBIDDEN',
    `only a principal with this role decides about device ${at.context.deviceId}: ` + APPROVER_ROLE,
  );

export const changed = (
  { deviceId }: DeviceContext,
  what: DeviceChanged['what'],
  about: Pick<DeviceChanged, 'requestId' | 'role' | 'connId'> = {},
): DeviceChanged => ({ type: 'device.changed', deviceId, what, ...about });
