/**
 * The inbox of a Discord connection: stores what the gateway sends, in order, and then the position
 * up to which everything is stored.
 *
 * Invariants:
 *  1. The stored sequence is that of an event whose messages are stored, never a later one, so a
 *     resumed session sends the others again. The SDK's own sequence runs ahead of it.
 *  2. After a lost session the messages that were missed in known channels come before later ones.
 */
import type { REST } from '@discordjs/rest';
import {
  type APIMessage,
  GatewayDispatchEvents,
  type GatewayDispatchPayload,
} from 'discord-api-types/v10';
import type { ChatRef, InboundMessage } from '../../../protocols/channel.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { isHidden } from './failures.ts';
import type { Session } from './gateway.ts';
import { isWritten, messageOf, reactionOf } from './inbound.ts';
import type { ChannelFacts, Places } from './places.ts';

/** The session to resume, and the last stored message of the latest channels. */
export type Position = {
  readonly session?: Session;
  readonly seen: Readonly<Record<string, string>>;
};

/** A position has at most 2,048 characters. */
const SEEN_MAX = 32;
const WAITING_MAX = 5_000;
const BATCH_MAX = 100;
const PAGE = 100;
/** of one channel */
const MISSED_MAX = 1_000;
/** A position is stored after this number of events even if none of them is a message. */
const EVENTS_PER_POSITION = 100;

export type InboxOptions = {
  readonly rest: REST;
  readonly places: Places;
  readonly botId: string;
  readonly position: Position;
  /** a session is usable, also one after a lost connection */
  readonly onSession: () => Promise<void>;
  readonly onMessages: (messages: readonly InboundMessage[]) => Promise<void>;
  readonly onPosition: (position: Position) => Promise<void>;
  readonly onTyping: (chat: ChatRef) => void;
  /** storing failed: the connection must end, so that the events are sent again */
  readonly onFailure: (error: unknown) => void;
};

type Entry =
  | { readonly session: Session; readonly isNew: boolean }
  | { readonly event: GatewayDispatchPayload };

export class Inbox {
  readonly #options: InboxOptions;
  readonly #seen: Map<string, string>;
  #session: Session | undefined;
  #waiting: Entry[] = [];
  #isStoring = false;
  #hasFailed = false;
  #unstored = 0;

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#session = options.position.session;
    this.#seen = new Map(Object.entries(options.position.seen));
  }

  add(entry: Entry): void {
    if (this.#hasFailed) return;
    this.#waiting.push(entry);
    if (this.#waiting.length > WAITING_MAX) return this.#fail(overflow());
    if (!this.#isStoring) this.#store().catch((error: unknown) => this.#fail(error));
  }

  #fail(error: unknown): void {
    this.#hasFailed = true;
    this.#waiting = [];
    this.#options.onFailure(error);
  }

  async #store(): Promise<void> {
    this.#isStoring = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, BATCH_MAX);
      this.#waiting = this.#waiting.slice(BATCH_MAX);
      await this.#storeBatch(batch);
    }
    this.#isStoring = false;
  }

  async #storeBatch(batch: readonly Entry[]): Promise<void> {
    let messages: InboundMessage[] = [];
    let isUrgent = false;
    for (const entry of batch) {
      if ('event' in entry) messages.push(...(await this.#messagesOf(entry.event)));
      else {
        isUrgent = true;
        await this.#options.onSession();
        if (entry.isNew) messages = [...messages, ...(await this.#missed())];
        this.#session = entry.session;
      }
    }
    if (messages.length > 0) await this.#options.onMessages(messages);
    if (!isUrgent && messages.length === 0 && this.#unstored < EVENTS_PER_POSITION) return;
    this.#unstored = 0;
    await this.#options.onPosition(this.#position());
  }

  #position(): Position {
    const seen = Object.fromEntries([...this.#seen].slice(-SEEN_MAX));
    return { seen, ...(this.#session && { session: this.#session }) };
  }

  async #messagesOf(event: GatewayDispatchPayload): Promise<InboundMessage[]> {
    this.#options.places.observe(event);
    const key = `reaction:${this.#session?.id}:${event.s}`;
    if (this.#session) this.#session = { ...this.#session, sequence: event.s };
    this.#unstored += 1;
    switch (event.t) {
      case GatewayDispatchEvents.MessageCreate:
        return this.#message(event.d, event.d);
      case GatewayDispatchEvents.MessageReactionAdd:
        if (event.d.user_id === this.#options.botId || event.d.member?.user?.bot) return [];
        return [reactionOf(key, event.d, await this.#options.places.of(event.d))];
      case GatewayDispatchEvents.TypingStart:
        if (event.d.user_id !== this.#options.botId)
          this.#options.onTyping((await this.#options.places.of(event.d)).chat);
        return [];
      default:
        return [];
    }
  }

  async #message(message: APIMessage, facts: ChannelFacts): Promise<InboundMessage[]> {
    this.#see(message);
    if (!isWritten(message)) return [];
    const place = await this.#options.places.of(facts, message.mention_roles);
    const inbound = messageOf(message, place, this.#options.botId);
    return inbound ? [inbound] : [];
  }

  /** Also messages of bots: the gap after a lost session starts behind them. */
  #see({ channel_id: channel, id }: APIMessage): void {
    this.#seen.delete(channel);
    this.#seen.set(channel, id);
    if (this.#seen.size <= SEEN_MAX) return;
    const [oldest] = this.#seen.keys();
    this.#seen.delete(oldest!);
  }

  async #missed(): Promise<InboundMessage[]> {
    const found: InboundMessage[] = [];
    // reading moves a channel to the end of the map
    const before = new Map(this.#seen);
    for (const [channel, last] of before)
      for (const message of await this.#after(channel, last))
        found.push(...(await this.#message(message, { channel_id: channel })));
    return found;
  }

  /** In the order in which they were written. A channel that the bot may not read has none. */
  async #after(channel: string, last: string): Promise<APIMessage[]> {
    const found: APIMessage[] = [];
    for (;;) {
      const page = await this.#page(channel, found.at(-1)?.id ?? last);
      found.push(...page);
      if (page.length < PAGE || found.length >= MISSED_MAX) return found;
    }
  }

  async #page(channel: string, after: string): Promise<APIMessage[]> {
    try {
      const query = new URLSearchParams({ after, limit: String(PAGE) });
      const page = await this.#options.rest.get(`/channels/${channel}/messages`, { query });
      return (page as APIMessage[]).toReversed();
    } catch (error) {
      if (isHidden(error)) return [];
      throw error;
    }
  }
}

const overflow = (): TroupeError =>
  new TroupeError('UNAVAILABLE', `${WAITING_MAX} events of Discord wait to be stored`);

export const isPosition = (value: unknown): value is Position =>
  typeof value === 'object' && value !== null && typeof (value as Position).seen === 'object';
