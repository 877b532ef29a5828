/** ActionResult: what an action of the channel's chart changes and sends. The row is derived. */
import type { ConnectOutput } from '../../protocols/channel.ts';
import * as kit from '../kit/handlers.ts';
import type { ChannelContext, ChannelEvent } from './types.ts';

export type ActionArgs = kit.ActionArgs<ChannelContext, ChannelEvent>;
export type ActionResult = kit.ActionResult<ChannelContext>;
export const { on } = kit.handlersOf<ChannelContext, ChannelEvent>();
export { nowOf } from '../kit/handlers.ts';

/** Why the connection ended; a connection that failed without a result may be tried again. */
export const outcomeOf = ({ event }: { readonly event: object }): ConnectOutput =>
  'output' in event
    ? kit.outputOf<ConnectOutput>(event)
    : { error: kit.errorOf(event), isFinal: false };
