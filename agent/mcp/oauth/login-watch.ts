/** Watches for logins that servers need. Other processes make them, so their files are read. */
import type { Clock } from '../../../runtime/index.ts';
import type { ServerLogin } from './server-login.ts';

const PAUSE_MS = 3_000;

export class LoginWatch {
  readonly #clock: Clock;
  /** by server: ends it */
  readonly #watched = new Map<string, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `onLogin` once, when there is a login. May be repeated. */
  until(name: string, login: ServerLogin, onLogin: () => void): void {
    if (this.#watched.has(name)) return;
    const look = async () => {
      const state = await login.state().catch(() => undefined);
      if (!this.#watched.has(name)) return;
      if (state === undefined) return wait();
      this.#watched.delete(name);
      onLogin();
    };
    const wait = () =>
      void this.#watched.set(
        name,
        this.#clock.after(PAUSE_MS, () => void look()),
      );
    wait();
  }

  /** Ends all. May be repeated. */
  close(): void {
    for (const cancel of this.#watched.values()) cancel();
    this.#watched.clear();
  }
}
