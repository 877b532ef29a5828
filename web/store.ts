/** The IndexedDB store of this browser as a device: its keys, and its book of answers. */
const NAME = 'troupe-node';
const VERSION = 1;

export type StoreName = 'keys' | 'answers';

export class Store {
  readonly #db: IDBDatabase;

  private constructor(db: IDBDatabase) {
    this.#db = db;
  }

  /** @throws DOMException when the browser stores nothing, as in some private windows */
  static async open(): Promise<Store> {
    const request = indexedDB.open(NAME, VERSION);
    request.addEventListener('upgradeneeded', () => {
      request.result.createObjectStore('keys');
      request.result.createObjectStore('answers');
    });
    return new Store(await done(request));
  }

  async get<T>(store: StoreName, key: string): Promise<T | undefined> {
    return done<T | undefined>(this.#store(store, 'readonly').get(key));
  }

  async put(store: StoreName, key: string, value: unknown): Promise<void> {
    await done(this.#store(store, 'readwrite').put(value, key));
  }

  /** Returns the stored value, or stores `value` if there is none. */
  async putIfMissing<T>(store: StoreName, key: string, value: T): Promise<T> {
    const rows = this.#store(store, 'readwrite');
    const kept = await done<T | undefined>(rows.get(key));
    if (kept !== undefined) return kept;
    await done(rows.put(value, key));
    return value;
  }

  async delete(store: StoreName, key: string): Promise<void> {
    await done(this.#store(store, 'readwrite').delete(key));
  }

  async keys(store: StoreName): Promise<readonly string[]> {
    return (await done(this.#store(store, 'readonly').getAllKeys())) as string[];
  }

  #store(name: StoreName, mode: IDBTransactionMode): IDBObjectStore {
    return this.#db.transaction(name, mode).objectStore(name);
  }
}

const done = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error ?? new Error('not kept')));
  });
