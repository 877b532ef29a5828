/**
 * The last received messages, because WhatsApp wants the text of the message that a reply quotes.
 */
import type { WebMessage } from 'baileys';

const MESSAGES_MAX = 1_000;
const CHARACTERS_MAX = 1_000;

export class Quotable {
  readonly #messages = new Map<string, WebMessage>();

  add(chatId: string, { key }: WebMessage, text: string): void {
    const message = { conversation: text.slice(0, CHARACTERS_MAX) };
    this.#messages.set(`${chatId} ${key.id}`, { key, message });
    const [oldest] = this.#messages.keys();
    if (this.#messages.size > MESSAGES_MAX && oldest !== undefined) this.#messages.delete(oldest);
  }

  find(chatId: string, messageId: string | undefined): WebMessage | undefined {
    return messageId === undefined ? undefined : this.#messages.get(`${chatId} ${messageId}`);
  }
}
