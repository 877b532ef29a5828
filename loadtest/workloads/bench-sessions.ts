/**
 * Sessions of a load test. A session runs one run at a time, so each request takes one that is
 * idle; a new one is begun when none is, and after 20 requests.
 */
import type { Target } from '../target.ts';

/** So that no session has a long history. */
const USES_MAX = 20;
const DELETING_AT_ONCE = 8;
const DELETING_MS_MAX = 30_000;

export class BenchSessions {
  readonly #target: Target;
  readonly #prefix: string;
  readonly #agent: string | undefined;
  readonly #idle: string[] = [];
  readonly #uses = new Map<string, number>();
  #count = 0;

  constructor(target: Target, prefix: string, agent?: string) {
    this.#target = target;
    this.#prefix = prefix;
    this.#agent = agent;
  }

  /** A full session key, as `agent:main:bench-1-runs-4`. */
  take(): string {
    return this.#idle.pop() ?? this.next();
  }

  /** A new session. */
  next(): string {
    return `agent:${this.#agent ?? 'main'}:${this.#prefix}-${++this.#count}`;
  }

  giveBack(key: string): void {
    const uses = (this.#uses.get(key) ?? 0) + 1;
    if (uses >= USES_MAX) return void this.#uses.delete(key);
    this.#uses.set(key, uses);
    this.#idle.push(key);
  }

  /** Deletes the sessions of the test. What cannot be deleted stays. */
  async remove(): Promise<void> {
    const signal = AbortSignal.timeout(DELETING_MS_MAX);
    let n = this.#count;
    const lane = async () => {
      for (; n > 0 && !signal.aborted; ) {
        const key = `agent:${this.#agent ?? 'main'}:${this.#prefix}-${n--}`;
        await this.#target
          .client()
          .request('sessions.delete', { key }, { signal })
          .catch(() => {});
      }
    };
    await Promise.all(Array.from({ length: DELETING_AT_ONCE }, lane));
  }
}
