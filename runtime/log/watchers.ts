/**
 * Watchers: subscriptions to appends by subject. Calls run as microtasks, after the code that
 * stored the entries, once per watcher however many entries were stored.
 */
export class Watchers {
  readonly #calls = new Map<string, Set<Watcher>>();

  /** Returns unsubscribe, which may be repeated. */
  add(subject: string, onAppended: () => void): () => void {
    const watcher: Watcher = { call: onAppended, queued: false, stopped: false };
    const watchers = this.#calls.get(subject) ?? new Set();
    this.#calls.set(subject, watchers.add(watcher));
    return () => {
      watcher.stopped = true;
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#calls.get(subject) === watchers) this.#calls.delete(subject);
    };
  }

  notify(subject: string): void {
    for (const watcher of this.#calls.get(subject) ?? []) {
      if (watcher.queued) continue;
      watcher.queued = true;
      queueMicrotask(() => {
        watcher.queued = false;
        if (!watcher.stopped) watcher.call();
      });
    }
  }

  clear(): void {
    for (const watchers of this.#calls.values())
      for (const watcher of watchers) watcher.stopped = true;
    this.#calls.clear();
  }
}

type Watcher = { readonly call: () => void; queued: boolean; stopped: boolean };
