/** StoreHealth: whether the embedded store can be used. It stays broken until the process ends. */
import { TroupeError } from '../../protocols/errors.ts';

export class StoreHealth {
  #broken: { readonly cause: unknown } | undefined;

  /** Memory and disk may differ. Nothing is read or written any more. */
  fail(cause: unknown): void {
    this.#broken ??= { cause };
  }

  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  /** @throws TroupeError UNAVAILABLE, details.reason STORE_BROKEN */
  assertSound(): void {
    if (this.#broken === undefined) return;
    throw new TroupeError(
      'UNAVAILABLE',
      `the store failed and must be restarted (${String(this.#broken.cause)}): check the disk ` +
        'and start again; acknowledged data is safe',
      { details: { reason: 'STORE_BROKEN' }, cause: this.#broken.cause },
    );
  }
}
