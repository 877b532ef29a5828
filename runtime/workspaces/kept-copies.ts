/**
 * KeptCopies: limits the number of workspace copies that stay on a worker's disk between openings.
 * The least recently used copy is removed first; copies found at the start are in no particular
 * order. The actor's empty folder with its lock file is kept, because another process may wait for
 * that lock; without it two processes could open the workspace.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from './checkout.ts';
import type { Places } from './places.ts';

/** The copy from which the next opening starts. */
export const KEPT = 'kept';
/** A copy that another process has open is not removed. */
const ENTER_WITHIN_MS = 200;
/** An effect may work in a copy for some time. */
const DROP_WITHIN_MS = 60_000;

export class KeptCopies {
  readonly #root: string;
  readonly #places: Places;
  readonly #max: number;
  /** names of places whose copy this process does not have open, least recently used first */
  #names: Set<string> | undefined;

  constructor(root: string, places: Places, max: number) {
    this.#root = root;
    this.#places = places;
    this.#max = max;
  }

  /** Before a place is entered. */
  async take(name: string): Promise<void> {
    this.#names ??= new Set(await readdir(this.#root));
    this.#names.delete(name);
  }

  /** After a place with a copy was left. A copy that cannot be removed is no longer counted. */
  async add(name: string): Promise<void> {
    const names = (this.#names ??= new Set());
    names.delete(name);
    names.add(name);
    while (names.size > this.#max) {
      const [oldest = name] = names;
      names.delete(oldest);
      await this.#remove(oldest).catch(() => {});
    }
  }

  /** Also what openings of processes that were killed left. */
  async dropAll(): Promise<void> {
    const places = await readdir(this.#root, { withFileTypes: true }).catch(() => []);
    for (const { name } of places.filter((found) => found.isDirectory())) {
      const signal = AbortSignal.timeout(DROP_WITHIN_MS);
      const place = await this.#places.enter(this.#root, name, signal);
      try {
        for (const copy of await readdir(place.folder, { withFileTypes: true }))
          if (copy.isDirectory()) await removeTree(join(place.folder, copy.name));
      } finally {
        await place.leave();
      }
    }
  }

  async #remove(name: string): Promise<void> {
    const place = await this.#places.enter(this.#root, name, AbortSignal.timeout(ENTER_WITHIN_MS));
    try {
      await removeTree(join(place.folder, KEPT));
    } finally {
      await place.leave();
    }
  }
}
