/**
 * Storage of the page in this browser and in this tab. If the browser denies storage (site data
 * blocked, some private windows), values are kept in memory until the page is closed.
 */
export type Keep = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

class MemoryKeep implements Keep {
  readonly #values = new Map<string, string>();

  get length(): number {
    return this.#values.size;
  }
  key(at: number): string | null {
    return [...this.#values.keys()][at] ?? null;
  }
  getItem(name: string): string | null {
    return this.#values.get(name) ?? null;
  }
  setItem(name: string, value: string): void {
    this.#values.set(name, value);
  }
  removeItem(name: string): void {
    this.#values.delete(name);
  }
}

const PROBE = 'troupe.probe';

/** A browser may deny access to a storage, or reading or writing it. */
const storageOr = (named: () => Keep): Keep => {
  try {
    const storage = named();
    storage.setItem(PROBE, '');
    storage.removeItem(PROBE);
    return storage;
  } catch {
    return new MemoryKeep();
  }
};

export const kept = storageOr(() => localStorage);
export const keptInTab = storageOr(() => sessionStorage);
