/**
 * ActionResult: what a named action of the conversation's chart changes, and what it requests from
 * the host. Actions are pure functions of context and event; the chart decides when they run.
 */
import { type Address, address } from '../../protocols/address.ts';
import type { Meta, Tell } from '../../protocols/statechart.ts';
import type { ConversationContext } from './types.ts';

/** What a deed is a function of. Timers carry `meta`, too: the host sends it. */
export type ActionArgs = { readonly context: ConversationContext; readonly event: unknown };

export type ActionResult = {
  readonly change?: Partial<ConversationContext>;
  readonly tells?: readonly Tell[];
};

export const metaOf = (event: unknown): Meta => (event as { meta: Meta }).meta;
export const nowOf = (event: unknown): number => metaOf(event).now;

export const sessionAddress = (context: ConversationContext, sessionKey: string): Address =>
  address(context.tenant, 'session', sessionKey);

/** What it is about; asked for only in states that have it. */
export const aboutOf = ({ about }: ConversationContext): NonNullable<typeof about> => about!;
