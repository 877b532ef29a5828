/** StoreHealth: whether the embedded store can be used. It stays broken until the process ends. */
import { TroupeError } from '../../protocols/errors.ts';

export class StoreHealth {
  readonly #onAlarm: ((what: string) => void) | undefined;
  #broken: { readonly cause: unknown } | undefined;

  /** @param onAlarm called once, when the store fails */
  constructor(onAlarm?: (what: string) => void) {
    this.#onAlarm = onAlarm;
  }

  /** Memory and disk may differ. Nothing is read or written any more. */
  fail(cause: unknown): void {
    if (this.#broken) return;
    this.#broken = { cause };
    this.#onAlarm?.(whatToDo(cause));
  }

  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  /** @throws TroupeError UNAVAILABLE, details.reason STORE_BROKEN */
  assertSound(): void {
    if (this.#broken === undefined) return;
    throw new TroupeError('UNAVAILABLE', whatToDo(this.#broken.cause), {
      details: { reason: 'STORE_BROKEN' },
      cause: this.#broken.cause,
    });
  }
}

const whatToDo = (cause: unknown): string =>
  `the store failed and must be restarted (${String(cause)}): check the disk ` +
  'and start again; acknowledged data is safe';
