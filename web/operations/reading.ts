/**
 * Reading: the latest result of a request that a view shows. It reads again after every action of
 * the user, and at an interval while the page is visible.
 *
 * Invariant: a result belongs to the newest request; answers of older ones are dropped.
 */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { connectionFailure } from '../../client/gateway-errors.ts';

export type Read<Result> = {
  /** undefined until the first answer */
  readonly value: Result | undefined;
  /** why the last request failed; a lost connection is not a failure */
  readonly error: string | undefined;
  /** Reads now. */
  again(this: void): void;
};

/** By the last result, which is undefined until the first answer. 0: only when it is requested. */
type Every<Result> = (value: Result | undefined) => number;

const EVERY_MS = 5_000;
/** After a lost connection, and while the page is hidden: then nothing is requested. */
const RECHECK_MS = 1_000;

class Reading<Result> {
  readonly #read: () => Promise<Result>;
  readonly #onChange: (state: { value?: Result; error?: string }) => void;
  readonly #every: Every<Result>;
  #value: Result | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #newest = 0;
  #ended = false;

  constructor(
    read: () => Promise<Result>,
    onChange: (state: { value?: Result; error?: string }) => void,
    every: Every<Result>,
  ) {
    this.#every = every;
    this.#read = read;
    this.#onChange = onChange;
  }

  async again(): Promise<void> {
    clearTimeout(this.#timer);
    const mine = ++this.#newest;
    try {
      const value = await this.#read();
      if (!this.#isCurrent(mine)) return;
      this.#value = value;
      this.#onChange({ value });
    } catch (error) {
      const isLost = connectionFailure(error) !== undefined;
      if (this.#isCurrent(mine) && !isLost) this.#onChange({ error: (error as Error).message });
      if (this.#isCurrent(mine) && isLost) return this.#later(RECHECK_MS);
    }
    const everyMs = this.#every(this.#value);
    if (this.#isCurrent(mine) && everyMs > 0) this.#later(everyMs);
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  #isCurrent(request: number): boolean {
    return !this.#ended && request === this.#newest;
  }

  #later(ms: number): void {
    this.#timer = setTimeout(() => this.#next(), ms);
  }

  #next(): void {
    if (document.visibilityState === 'visible') void this.again();
    else this.#later(RECHECK_MS);
  }
}

/**
 * @param key identifies the request; a new one forgets the result of the former
 * @param everyMs milliseconds, or what determines them
 */
export const useReading = <Result>(
  key: string,
  read: () => Promise<Result>,
  everyMs: number | Every<Result> = EVERY_MS,
): Read<Result> => {
  const [state, setState] = useState<{ key: string; value?: Result; error?: string }>({ key });
  const reading = useMemo(
    () =>
      new Reading<Result>(
        read,
        (next) =>
          setState((now) => ({ ...(now.key === key ? { value: now.value! } : {}), ...next, key })),
        typeof everyMs === 'number' ? () => everyMs : everyMs,
      ),
    [key],
  );
  useEffect(() => {
    void reading.again();
    return () => reading.end();
  }, [reading]);
  const own = state.key === key ? state : undefined;
  return { value: own?.value, error: own?.error, again: () => void reading.again() };
};
