/**
 * NatsLink: whether the connection to NATS is up, for all code that waits for an answer. The client
 * reports a lost connection at once, but lets every request in flight run into its time limit; here
 * requests end with the connection.
 *
 * Boundary: it does not know the outcome of a request whose connection was lost.
 */
import { errors, type NatsConnection } from '@nats-io/transport-node';

/** The connection was lost while the answer was awaited, or it is down already. */
export class LinkDown extends Error {
  override readonly name = 'LinkDown';
  constructor() {
    super('the connection to NATS is lost');
  }
}

/** The rights of the user do not suffice for a subject. */
export type Refusal = InstanceType<typeof errors.PermissionViolationError>;

export class NatsLink {
  readonly nc: NatsConnection;
  #up = true;
  #closed = false;
  readonly #asked = new Set<(error: LinkDown) => void>();
  readonly #watchers = new Set<(up: boolean) => void>();
  readonly #onRefusal = new Set<(refusal: Refusal) => void>();

  constructor(nc: NatsConnection) {
    this.nc = nc;
    void this.#watch();
  }

  /** false while it is certain that nothing sent now would arrive now */
  get up(): boolean {
    return this.#up && !this.nc.isClosed();
  }

  /** The request's answer. @throws LinkDown as soon as the connection is lost */
  ask<T>(request: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = (done: () => void) => {
        this.#asked.delete(reject);
        done();
      };
      this.#asked.add(reject);
      request.then(
        (answer) => settle(() => resolve(answer)),
        (error: unknown) => settle(() => reject(error)),
      );
      if (!this.up) settle(() => reject(new LinkDown()));
    });
  }

  /**
   * Calls with `false` when the connection is lost, `true` when it is back. Returns unsubscribe.
   */
  watch(onChange: (up: boolean) => void): () => void {
    this.#watchers.add(onChange);
    return () => this.#watchers.delete(onChange);
  }

  /** Calls when the server refuses a message or a subscription for the rights of the user. */
  watchRefusals(onRefusal: (refusal: Refusal) => void): void {
    this.#onRefusal.add(onRefusal);
  }

  /** Ends all notifications; the connection itself stays open. */
  close(): void {
    this.#closed = true;
    this.#watchers.clear();
    this.#onRefusal.clear();
  }

  async #watch(): Promise<void> {
    for await (const status of this.nc.status()) {
      if (this.#closed) return;
      if (status.type === 'disconnect') this.#changed(false);
      else if (status.type === 'reconnect') this.#changed(true);
      else if (status.type === 'error') this.#refused(status.error);
    }
    this.#changed(false);
  }

  #refused(error: Error): void {
    if (!(error instanceof errors.PermissionViolationError)) return;
    for (const onRefusal of this.#onRefusal) onRefusal(error);
  }

  #changed(up: boolean): void {
    this.#up = up;
    if (!up) {
      const asked = [...this.#asked];
      this.#asked.clear();
      for (const reject of asked) reject(new LinkDown());
    }
    for (const onChange of this.#watchers) onChange(up);
  }
}
