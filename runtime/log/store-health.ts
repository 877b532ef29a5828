/** StoreHealth: whether the embedded store can be used. It stays broken until the process ends. */
import { TroupeError } from '../../protocols/errors.ts';

export class StoreHealth {
  readonly #onAlarm: ((what: string) => void) | undefined;
  #broken: { readonly cause: unknown } | undefined;
  /** Resolves when the store fails; never rejects. */
  readonly failed: Promise<TroupeError>;
  #fail!: (error: TroupeError) => void;

  /** @param onAlarm called once, when the store fails */
  constructor(onAlarm?: (what: string) => void) {
    this.#onAlarm = onAlarm;
    this.failed = new Promise((resolve) => (this.#fail = resolve));
  }

  /** Memory and disk may differ. Nothing is read or written any more. */
  fail(cause: unknown): void {
    if (this.#broken) return;
    this.#broken = { cause };
    const error = broken(cause);
    this.#onAlarm?.(error.message);
    this.#fail(error);
  }

  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  /** @throws TroupeError UNAVAILABLE, details.reason STORE_BROKEN */
  assertSound(): void {
    if (this.#broken) throw broken(this.#broken.cause);
  }
}

const broken = (cause: unknown): TroupeError =>
  new TroupeError(
    'UNAVAILABLE',
    `the store failed and must be restarted (${String(cause)}): check the disk ` +
      'and start again; acknowledged data is safe',
    { details: { reason: 'STORE_BROKEN' }, cause },
  );
