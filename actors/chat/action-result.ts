/** ActionResult: what an action of the chat's chart changes and sends. */
import * as kit from '../kit/handlers.ts';
import type { ChatContext, ChatEvent } from './types.ts';

export type ActionArgs = kit.ActionArgs<ChatContext, ChatEvent>;
export type ActionResult = kit.ActionResult<ChatContext>;
export const { on } = kit.handlersOf<ChatContext, ChatEvent>();
export { nowOf, outputOf } from '../kit/handlers.ts';
