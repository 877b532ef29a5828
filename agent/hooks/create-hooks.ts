/**
 * Calls hooks by the contracts of hooks.ts.
 *
 * Invariants:
 *  1. A hook receives a copy of the event. Only its return value changes anything.
 *  2. A hook that exceeds its time limit is aborted by its signal; its later result or error is
 *     ignored.
 *  3. A hook that exceeds its limit LATE_MAX times in a row is suspended for SUSPENDED_MS, so that
 *     a hanging hook does not delay every run. A hook that fails closed refuses immediately during
 *     that time.
 *  4. Every failure is counted. Failures of one hook are reported at most once in REPORT_MS.
 */
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { type Clock, systemClock } from '../../runtime/index.ts';
import type { HookModule } from './define-hooks.ts';
import { eventAfter, isFinal, refusedIfEmpty, resultAfter, resultOf } from './hook-results.ts';
import {
  type HookAbout,
  type HookEvent,
  type HookName,
  type HookResult,
  HOOKS,
  type Hooks,
} from './hooks.ts';

/** A hook is suspended after this number of consecutive timeouts. */
export const LATE_MAX = 3;
/** Duration of a suspension, milliseconds. */
export const SUSPENDED_MS = 60_000;
/** Minimum interval between two reports about one hook, milliseconds. */
export const REPORT_MS = 60_000;

export type HookFailure = {
  /** name of the module */
  readonly module: string;
  readonly hook: HookName;
  readonly about: HookAbout;
  /** the error message, for users */
  readonly why: string;
  /** failures of this hook since its last report that were not reported */
  readonly unreported: number;
};

export type HooksOptions = {
  readonly modules?: readonly HookModule[];
  /** for time limits and suspensions; default the system clock */
  readonly clock?: Clock;
  /** called for every failure */
  readonly onFailure?: () => void;
  /** writes to the log; called at most once in REPORT_MS for each hook */
  readonly report?: (failure: HookFailure) => void;
};

export const createHooks = (options: HooksOptions = {}): Hooks => {
  const caller = new HookCaller(options);
  return {
    has: (name) => caller.has(name),
    names: () => caller.names(),
    run: (name, event, about) => caller.run(name, event, about),
    persisted: (event, about) => caller.persisted(event, about),
  };
};

type Handler = (event: unknown, about: HookAbout & { signal: AbortSignal }) => unknown;

/** One function of one module, with its recent failures. */
type Registered = {
  readonly module: string;
  readonly hook: HookName;
  readonly handler: Handler;
  /** consecutive timeouts */
  late: number;
  /** monotonic time until which it is suspended */
  suspendedUntil: number;
  reportedAt: number | undefined;
  unreported: number;
};

class LateError extends Error {}

class HookCaller {
  readonly #byName: ReadonlyMap<HookName, readonly Registered[]>;
  readonly #clock: Clock;
  readonly #options: HooksOptions;

  constructor(options: HooksOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const ordered = (options.modules ?? []).toSorted(
      (a, b) => (a.priority ?? 0) - (b.priority ?? 0),
    );
    const byName = new Map<HookName, Registered[]>();
    for (const one of ordered.flatMap(registeredOf)) {
      const of = byName.get(one.hook) ?? [];
      byName.set(one.hook, [...of, one]);
    }
    this.#byName = byName;
  }

  has(name: HookName): boolean {
    return this.#byName.has(name);
  }

  names(): readonly HookName[] {
    return (Object.keys(HOOKS) as HookName[]).filter((name) => this.has(name));
  }

  async run<Name extends HookName>(
    name: Name,
    event: HookEvent<Name>,
    about: HookAbout,
  ): Promise<HookResult<Name> | undefined> {
    let current = event;
    let result: HookResult<Name> | undefined;
    for (const one of this.#byName.get(name) ?? []) {
      try {
        const returned = resultOf<Name>(name, await this.#called(one, current, about));
        const own = refusedIfEmpty<Name>(name, current, returned);
        current = eventAfter<Name>(current, own);
        result = resultAfter<Name>(result, own);
        if (isFinal(own)) break;
      } catch (error) {
        this.#failed(one, about, error);
      }
    }
    return result;
  }

  persisted(event: HookEvent<'tool_result_persist'>, about: HookAbout): string {
    let current = event;
    for (const one of this.#byName.get('tool_result_persist') ?? []) {
      try {
        const signal = new AbortController().signal;
        const returned = one.handler(structuredClone(current), { ...about, signal });
        refusePromise(returned);
        current = eventAfter<'tool_result_persist'>(
          current,
          resultOf('tool_result_persist', returned),
        );
      } catch (error) {
        this.#failed(one, about, error);
      }
    }
    return current.result;
  }

  /** The result of the hook. @throws the error of the hook, or LateError after its time limit */
  async #called(one: Registered, event: unknown, about: HookAbout): Promise<unknown> {
    const now = this.#clock.monotonicMs();
    if (now < one.suspendedUntil) {
      const seconds = Math.ceil((one.suspendedUntil - now) / 1_000);
      throw new Error(
        `it exceeded its time limit ${one.late} times in a row and is suspended for ${seconds} s`,
      );
    }
    const { timeoutMs } = HOOKS[one.hook];
    const controller = new AbortController();
    const { signal } = controller;
    const cancel = this.#clock.after(timeoutMs, () =>
      controller.abort(new LateError(`it took longer than ${timeoutMs} ms`)),
    );
    try {
      const call = async () => one.handler(structuredClone(event), { ...about, signal });
      const returned = await Promise.race([call(), abortOf(signal)]);
      one.late = 0;
      return returned;
    } finally {
      cancel();
    }
  }

  /** Counts and reports the failure. @throws TroupeError FORBIDDEN for a hook that fails closed */
  #failed(one: Registered, about: HookAbout, error: unknown): void {
    const now = this.#clock.monotonicMs();
    if (error instanceof LateError && ++one.late >= LATE_MAX)
      one.suspendedUntil = now + SUSPENDED_MS;
    const { module, hook } = one;
    const why = errorData(error).message;
    this.#options.onFailure?.();
    if (one.reportedAt === undefined || now - one.reportedAt >= REPORT_MS) {
      this.#options.report?.({ module, hook, about, why, unreported: one.unreported });
      one.reportedAt = now;
      one.unreported = 0;
    } else one.unreported++;
    if (HOOKS[hook].onFailure === 'closed') {
      throw new TroupeError('FORBIDDEN', `the hook ${hook} of ${module} failed: ${why}`, {
        details: { reason: 'HOOK_FAILED', hook, module },
        cause: error,
      });
    }
  }
}

const registeredOf = ({ name, hooks }: HookModule): Registered[] =>
  Object.entries(hooks).map(([hook, handler]) => ({
    module: name,
    hook: hook as HookName,
    // sound: the loader checks the names, and each name has its own event type
    handler: handler as Handler,
    late: 0,
    suspendedUntil: -Infinity,
    reportedAt: undefined,
    unreported: 0,
  }));

/** Rejects with the signal's reason when the signal is aborted. */
const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as LateError), { once: true });
  });

/** Ignores the outcome of a returned promise. @throws Error when the value is a promise */
const refusePromise = (returned: unknown): void => {
  if (!(returned instanceof Object) || !('then' in returned)) return;
  void Promise.resolve(returned as PromiseLike<unknown>).catch(() => {});
  throw new Error('it returned a promise, but this hook must be synchronous');
};
