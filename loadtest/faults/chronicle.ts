/** The faults of a scenario in the order in which they began, each with its time and effect. */

/** One fault, as the account lists it. Times are ISO 8601, of the clock of the harness. */
export type InjectedFault = {
  readonly what: string;
  readonly beganAt: string;
  /** when its cause was removed; undefined when the scenario ended before */
  readonly endedAt?: string;
  /** by affected shard, milliseconds from the beginning to the next reply of an actor */
  readonly recoveriesMs: readonly number[];
};

/** A fault that has begun. */
export type OpenFault = {
  recovered(timesMs: readonly number[]): void;
  /** Its cause is removed. */
  ended(): void;
};

export class Chronicle {
  readonly #faults: InjectedFault[] = [];

  get faults(): readonly InjectedFault[] {
    return this.#faults;
  }

  begin(what: string): OpenFault {
    const beganAt = new Date().toISOString();
    const fault: InjectedFault & { endedAt?: string; recoveriesMs: number[] } = {
      what,
      beganAt,
      recoveriesMs: [],
    };
    this.#faults.push(fault);
    return {
      recovered: (timesMs) => void fault.recoveriesMs.push(...timesMs),
      ended: () => void (fault.endedAt = new Date().toISOString()),
    };
  }
}
