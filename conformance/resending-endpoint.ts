/**
 * ResendingEndpoint: an endpoint with the retries that the protocol requires of clients. After a
 * missing answer or UNAVAILABLE it sends the same bytes again. The idempotency key makes that safe,
 * and the suite checks that it does.
 *
 * Invariants:
 *  1. At most RESENDS_MAX retries per request, with growing pauses.
 *  2. When no request was ever answered, there are no retries, so that a wrong URL is reported
 *     immediately.
 *  3. `ms` of a reply is the duration of the answered attempt; `resent` counts the others.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Endpoint, Http, Reply } from './endpoint.ts';

const RESENDS_MAX = 8;
const PAUSE_MS = { first: 100, max: 2_000 };
const UNAVAILABLE = 503;

export class ResendingEndpoint implements Endpoint {
  readonly #endpoint: Endpoint;
  #resent = 0;
  #hasAnswered = false;
  readonly send: Endpoint['send'];
  readonly events: Endpoint['events'];
  readonly http?: Http;

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
    this.send = (...asked) => this.#patiently(() => endpoint.send(...asked), isAway);
    this.events = (...asked) => this.#patiently(() => endpoint.events(...asked));
    const { http } = endpoint;
    if (!http) return;
    this.http = {
      get: (...asked) => this.#patiently(() => http.get(...asked), isAway),
      post: (...asked) => this.#patiently(() => http.post(...asked), isAway),
      fetch: (...asked) => this.#patiently(() => http.fetch(...asked), isAway),
    };
  }

  get transport(): Endpoint['transport'] {
    return this.#endpoint.transport;
  }

  get bytesMax(): number | undefined {
    return this.#endpoint.bytesMax;
  }

  /** number of retries */
  get resent(): number {
    return this.#resent;
  }

  close(): Promise<void> {
    return this.#endpoint.close();
  }

  async #patiently<T>(
    ask: () => Promise<T>,
    isToRepeat: (reply: T) => boolean = () => false,
  ): Promise<T> {
    for (let left = RESENDS_MAX; ; left--) {
      try {
        const reply = await ask();
        this.#hasAnswered = true;
        if (left === 0 || !isToRepeat(reply)) return reply;
      } catch (error) {
        if (left === 0 || !this.#hasAnswered) throw error;
      }
      this.#resent++;
      await sleep(Math.min(PAUSE_MS.first * 2 ** (RESENDS_MAX - left), PAUSE_MS.max));
    }
  }
}

const isAway = ({ status }: Pick<Reply, 'status'>): boolean => status === UNAVAILABLE;
