/**
 * Entry: messages of an account enter the system. Each is checked, admitted or refused, routed and
 * stored in the mailbox of its chat, in order.
 *
 * Invariants: what `accept` has resolved for is stored or refused, so the service may forget it; a
 * message that was delivered twice is stored once (by its key); only pairing answers a sender who
 * was refused.
 */
import { randomInt } from 'node:crypto';
import {
  type Admission,
  APPROVED_INDEX,
  approvedKey,
  channelAddress,
  type ChannelPair,
  type ChatInbound,
  type ChatOutcome,
  chatAddress,
  chatKey,
  INBOUND_CHARACTERS_MAX,
  INBOUND_MEDIA_MAX,
  type InboundMessage,
  PAIRING_ALPHABET,
  PAIRING_CHARACTERS,
  type Route,
} from '../../protocols/channel.ts';
import { defined } from '../../protocols/defined.ts';
import { errorData, isFinalCode, TroupeError } from '../../protocols/errors.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { Address } from '../../protocols/address.ts';
import type { System } from '../../runtime/index.ts';
import type { AccountSettings } from './account-settings.ts';
import type { OutcomeProof } from './adapter.ts';
import type { Observed } from './observed.ts';

/** As long as keys are kept; a message waits while its chat is out of service. */
const TTL_MS = 28 * 3_600_000;

export type EntryOptions = {
  readonly system: Pick<System, 'tell' | 'index'>;
  readonly observed: Observed;
  readonly admit: (message: InboundMessage, isApproved: boolean) => Admission;
  readonly route: (message: InboundMessage) => Route;
  /** hooks or downloads come before the session */
  readonly needsPreparation: (message: InboundMessage) => boolean;
  /** a hook learns the outcome of what is sent to the chat */
  readonly isObserved: boolean;
  readonly onDropped: (message: InboundMessage, why: string) => void;
};

export class Entry {
  readonly #of: AccountSettings;
  readonly #o: EntryOptions;

  constructor(of: AccountSettings, options: EntryOptions) {
    this.#of = of;
    this.#o = options;
  }

  /**
   * Stores the messages of each chat in order. One that is not known to be stored holds back the
   * later ones of its chat, because the service delivers all of them again.
   * @throws TroupeError UNAVAILABLE when a message is not known to be stored
   */
  async accept(messages: readonly InboundMessage[]): Promise<void> {
    const chats = new Map<string, Promise<void>>();
    for (const message of messages) {
      const chat = chatKey(message);
      const earlier = chats.get(chat);
      const store = () => this.#accept(bounded(message));
      chats.set(chat, earlier ? earlier.then(store) : store());
    }
    await Promise.all(chats.values());
  }

  /** A message that can never be stored is reported, or it would be delivered without end. */
  async #accept(message: InboundMessage): Promise<void> {
    try {
      await this.#store(message);
    } catch (error) {
      const { code, message: why } = errorData(error);
      if (!isFinalCode(code)) throw error;
      this.#o.observed.error(`message ${message.key} was dropped: ${why}`);
      this.#o.onDropped(message, why);
    }
  }

  #store(message: InboundMessage): Promise<void> {
    const { observed, admit, route, needsPreparation, isObserved } = this.#o;
    // The account also answers strangers: no id may fail in its turn.
    const to = chatAddress(this.#of.tenant, this.#of, message.chat);
    const admission = admit(message, this.#isApproved(message));
    if (!admission.pass) {
      observed.refused(admission.rule);
      return admission.rule === 'dm.pairing' ? this.#pair(message) : Promise.resolve();
    }
    observed.inbound();
    const inbound: ChatInbound = {
      type: 'chat.inbound',
      message,
      route: route(message),
      ...(needsPreparation(message) && { needsPreparation: true }),
      ...(isObserved && { isObserved }),
    };
    return this.#tell(to, inbound, message);
  }

  #isApproved({ sender }: InboundMessage): boolean {
    const { tenant } = this.#of;
    const key = approvedKey(this.#of, sender.id);
    const of = channelAddress(tenant, this.#of);
    return this.#o.system.index.get(APPROVED_INDEX, tenant, key, of) !== undefined;
  }

  /** Without a key: each delivery has a new code, and the account ignores a known sender. */
  #pair({ sender, chat }: InboundMessage): Promise<void> {
    const pair: ChannelPair = { type: 'channel.pair', code: newCode(), sender, chat };
    return this.#tell(channelAddress(this.#of.tenant, this.#of), pair, { sender });
  }

  /**
   * A proof that a sent message failed afterwards is shown as the account's last error.
   * @throws TroupeError UNAVAILABLE when it is not known to be stored
   */
  async prove({ chat, pieceId, outcome }: OutcomeProof): Promise<void> {
    if (outcome.status === 'not_sent') this.#o.observed.error(outcome.error.message);
    const event: ChatOutcome = { type: 'chat.outcome', pieceId, outcome };
    const to = chatAddress(this.#of.tenant, this.#of, chat);
    await this.#tell(to, event, { key: `outcome:${outcome.status}:${pieceId}`, sender: chat });
  }

  async #tell(
    to: Address,
    event: Message,
    { key, sender }: { readonly key?: string; readonly sender: { readonly id: string } },
  ): Promise<void> {
    const principal = { sub: `${this.#of.channel}:${sender.id}`, roles: [] };
    const options = { principal, ttlMs: TTL_MS, ...defined({ key }) };
    const answer = await this.#o.system.tell(to, event, options);
    if (answer.kind === 'refused') throw TroupeError.from(answer.error);
  }
}

const newCode = (): string =>
  Array.from(
    { length: PAIRING_CHARACTERS },
    () => PAIRING_ALPHABET[randomInt(PAIRING_ALPHABET.length)],
  ).join('');

const bounded = (message: InboundMessage): InboundMessage => ({
  ...message,
  text: message.text.slice(0, INBOUND_CHARACTERS_MAX),
  ...(message.media && { media: message.media.slice(0, INBOUND_MEDIA_MAX) }),
});
