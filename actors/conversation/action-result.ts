/** ActionResult: what an action of the conversation changes, and which messages it sends. */
import { type Address, address } from '../../protocols/address.ts';
import type { Tell } from '../../protocols/statechart.ts';
import * as kit from '../kit/handlers.ts';
import type { ConversationContext, ConversationEvent } from './types.ts';

export type ActionArgs = kit.ActionArgs<ConversationContext, ConversationEvent>;
export const { on } = kit.handlersOf<ConversationContext, ConversationEvent>();
export { metaOf, nowOf } from '../kit/handlers.ts';

export type ActionResult = {
  readonly change?: Partial<ConversationContext>;
  readonly tells?: readonly Tell[];
};

export const sessionAddress = (context: ConversationContext, sessionKey: string): Address =>
  address(context.tenant, 'session', sessionKey);

/** The request of the conversation. Call it only in states that have one. */
export const aboutOf = ({ about }: ConversationContext): NonNullable<typeof about> => about!;
