/**
 * Recent commands of this device and their answers. A command that is delivered twice is executed
 * once, also if the page was reloaded in between.
 */
import type { Store } from '../store.ts';

export type Answer =
  | { readonly ok: true; readonly payloadJSON: string }
  | { readonly ok: false; readonly error: { readonly code: string; readonly message: string } };

type Entry = { readonly at: number; readonly answer?: Answer };

/** As long as the gateway redelivers (protocols/device.ts), and a little longer. */
const KEPT_MS = 900_000;
/** Answers can contain pictures and videos. */
const ENTRIES_MAX = 40;

export class Book {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The answer; `begun` if this device never finished the command. */
  async find(id: string): Promise<Answer | 'begun' | undefined> {
    const entry = await this.#store.get<Entry>('answers', id);
    if (entry === undefined || entry.at < Date.now() - KEPT_MS) return undefined;
    return entry.answer ?? 'begun';
  }

  async begin(id: string): Promise<void> {
    await this.#forgetOld();
    await this.#store.put('answers', id, { at: Date.now() } satisfies Entry);
  }

  async finish(id: string, answer: Answer): Promise<void> {
    await this.#store.put('answers', id, { at: Date.now(), answer } satisfies Entry);
  }

  async #forgetOld(): Promise<void> {
    const ids = await this.#store.keys('answers');
    const entries = await Promise.all(
      ids.map(async (id) => ({ id, at: (await this.#store.get<Entry>('answers', id))?.at ?? 0 })),
    );
    const newest = entries.sort((a, b) => b.at - a.at);
    const old = newest.filter(({ at }, place) => place >= ENTRIES_MAX || at < Date.now() - KEPT_MS);
    await Promise.all(old.map(({ id }) => this.#store.delete('answers', id)));
  }
}
