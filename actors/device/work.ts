/** Work: the timed work of a device. One timer is set to the earliest due time. */
import { type ActionArgs, type ActionResult, nowOf } from './action-result.ts';
import * as invocations from './invocations.ts';
import { unlinked } from './surface.ts';
import type { DeviceContext } from './types.ts';
import * as waiting from './waiting.ts';

const times = (context: DeviceContext): number[] => [
  ...invocations.times(context),
  ...waiting.times(context),
];

export const hasWork = ({ context }: Pick<ActionArgs, 'context'>): boolean =>
  times(context).length > 0;
export const untilDueMs = ({ context, event }: ActionArgs): number =>
  Math.max(0, Math.min(...times(context)) - event.meta.now);

/** The gateway has accepted no command for so long that it must have ended. */
export const isGatewayLost = (at: ActionArgs): boolean =>
  invocations.isLost(at.context, nowOf(at.event));

/** Ends expired commands, and publishes again the commands that were not accepted. */
export const sweep = (at: ActionArgs): ActionResult => {
  const now = nowOf(at.event);
  const rest = waiting.sweep(at.context, now).change!;
  return invocations.sweep({ ...at.context, ...rest }, now);
};

/** Handles the commands as when the connection ends; expired ones end as expired. */
export const loseGateway = (at: ActionArgs): ActionResult => {
  const now = nowOf(at.event);
  const swept = sweep(at);
  const context = { ...at.context, ...swept.change };
  const lost = unlinked(context, now, (rest) => invocations.cutOff(rest, now));
  return {
    change: lost.change!,
    answers: [...(swept.answers ?? []), ...lost.answers!],
    notices: [...(swept.notices ?? []), ...lost.notices!],
  };
};
