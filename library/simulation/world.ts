/** World: what a simulated run shows to services, invariants and tests. */
import type { Address } from '../../protocols/address.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { AskAnswer } from '../../runtime/system.ts';
import type { Random } from './random.ts';

/** A request of a virtual client. */
export type SimulatedMessage = {
  /** virtual milliseconds after the start of the run, or after now for `send`; default 0 */
  readonly at?: number;
  readonly to: Address;
  readonly event: Message;
  /** idempotency key. A client with a key sends again until it has an answer; default none */
  readonly key?: string;
  /** how often a client without an answer sends again; default 2 with a key, else 0 */
  readonly retries?: number;
  /** virtual milliseconds until the client stops waiting; default 30,000 */
  readonly timeoutMs?: number;
  /** default `{ sub: 'test', roles: [] }` */
  readonly principal?: { readonly sub: string; readonly roles: readonly string[] };
};

/** An actor as its last commit left it. */
export type SimulatedActor = {
  readonly address: Address;
  /** type@version */
  readonly machine: string;
  /** `active`, `suspended`, `quarantined`, `stopped`, or `done` when its chart has ended */
  readonly status: string;
  /** state value of the chart */
  readonly value: unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- its type belongs to the caller
  readonly context: any;
};

/** The answer that a client received last. */
export type SimulatedAnswer = {
  readonly message: SimulatedMessage;
  readonly answer: AskAnswer;
  /** virtual milliseconds since the start */
  readonly at: number;
};

/** One attempt of an effect that ran. */
export type SimulatedEffect = {
  readonly actor: Address;
  readonly effect: string;
  readonly input: unknown;
  /** as `EffectContext.id`: the same for all attempts of one intent */
  readonly id: string;
  readonly attempt: number;
};

/** A run as services and invariants see it. */
export type SimulatedWorld<Services = unknown> = {
  /** virtual milliseconds since the start */
  readonly nowMs: number;
  /** what `services` returned for this run */
  readonly services: Services;
  /** a sequence of its own for services; the same for each run of a seed */
  readonly random: Random;
  readonly actor: (address: Address) => SimulatedActor | undefined;
  /** sorted by address; default of all types */
  readonly actors: (type?: string) => readonly SimulatedActor[];
  /** of all clients, in the order in which they arrived */
  readonly answers: readonly SimulatedAnswer[];
  /** attempts of effects, in the order in which they began */
  readonly effects: readonly SimulatedEffect[];
  /** resolves after virtual milliseconds; use it in services instead of timers */
  readonly sleep: (ms: number) => Promise<void>;
  /** A client sends a message, `at` milliseconds from now: a person who answers late. */
  readonly send: (message: SimulatedMessage) => void;
};

/**
 * A rule about the world. It is broken when the function returns false or a text, or throws.
 * Invariants must not wait and must not change anything.
 */
export type Invariant<Services = unknown> = (
  world: SimulatedWorld<Services>,
) => boolean | string | void;

/** Why a rule is broken; undefined if it holds. */
export function complaintOf(rule: Invariant, world: SimulatedWorld): string | undefined {
  try {
    return complaintOfAnswer(rule(world));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Why an answer of a rule means that it is broken. A promise is none: no run waits for it. */
export function complaintOfAnswer(answer: unknown): string | undefined {
  if (typeof answer === 'string') return answer || BROKEN;
  if (answer instanceof Promise) {
    answer.catch(() => {});
    return 'the rule returned a promise: write a rule that is not async';
  }
  return answer === false ? BROKEN : undefined;
}

const BROKEN = 'it does not hold';

/**
 * Services as an effect of a process reaches them: their answers do not arrive in a process that
 * was killed meanwhile, as those of other programs do not.
 * @param answered called with the name of a method when its result is there, before the effect has
 *   it; `arrive` hands it over
 */
export function throughBoundary<T>(
  services: T,
  answered: (method: string, arrive: () => void) => void,
): T {
  if (typeof services !== 'object' || services === null) return services;
  const target = services as object;
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name, target);
      const fixed = Reflect.getOwnPropertyDescriptor(target, name)?.configurable === false;
      if (fixed || typeof name === 'symbol') return value;
      if (typeof value === 'object') return throughBoundary(value, answered);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, given);
        if (!(result instanceof Promise)) return result;
        return new Promise((resolve, reject) => {
          const pass = async () => {
            const [end] = await Promise.allSettled([result]);
            const isDone = end.status === 'fulfilled';
            answered(name, () => (isDone ? resolve(end.value) : reject(end.reason as Error)));
          };
          void pass();
        });
      };
    },
  }) as T;
}
