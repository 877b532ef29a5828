/**
 * Received messages that troupe has not stored yet, one file for each delivery of Baileys.
 *
 * Baileys acknowledges a message to WhatsApp before its event, so WhatsApp does not deliver it
 * again. It is therefore on the disk before it goes to troupe, and is removed when troupe has
 * stored it. A kill in between delivers it twice with one key, which troupe ignores.
 */
import { existsSync, readdirSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { ChannelConnection } from 'troupe/plugin-sdk';
import { writeDurably } from './durable.ts';

export type Received = Parameters<ChannelConnection['messages']>[0];
type Waiting = { readonly file: string; readonly messages: Received };

export class Inbox {
  readonly #folder: string;
  readonly #waiting: Waiting[];
  #last: number;
  #turn: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
    const names = existsSync(folder)
      ? readdirSync(folder).filter((name) => name.endsWith('.json'))
      : [];
    this.#waiting = names.sort().map((name) => {
      const file = join(folder, name);
      return { file, messages: JSON.parse(readFileSync(file, 'utf8')) as Received };
    });
    this.#last = Number.parseInt(names.at(-1) ?? '0', 10);
  }

  add(messages: Received): void {
    const file = join(this.#folder, `${String(++this.#last).padStart(12, '0')}.json`);
    writeDurably(file, JSON.stringify(messages));
    this.#waiting.push({ file, messages });
  }

  /** Passes everything on, in order. @throws what `store` throws; the rest then waits */
  deliver(store: (messages: Received) => Promise<void>): Promise<void> {
    const turn = this.#turn.then(() => this.#deliver(store));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #deliver(store: (messages: Received) => Promise<void>): Promise<void> {
    for (let first = this.#waiting[0]; first; first = this.#waiting[0]) {
      await store(first.messages);
      unlinkSync(first.file);
      this.#waiting.shift();
    }
  }
}
