/** RunWorld: the actors of a run as their commits left them, and what services may ask for. */
import type { Address } from '../../protocols/address.ts';
import type { ActorRow } from '../../runtime/shard/turn/actor-row.ts';
import type { Random } from './random.ts';
import { EPOCH_MS, type VirtualClock } from './virtual-clock.ts';
import type {
  SimulatedActor,
  SimulatedAnswer,
  SimulatedEffect,
  SimulatedMessage,
  SimulatedWorld,
} from './world.ts';

export class RunWorld implements SimulatedWorld {
  services: unknown;
  readonly random: Random;
  readonly answers: SimulatedAnswer[] = [];
  readonly effects: SimulatedEffect[] = [];
  readonly send: (message: SimulatedMessage) => void;
  /** committed turns */
  turns = 0;
  /** virtual time of the last commit */
  committedAt = 0;
  readonly #clock: VirtualClock;
  readonly #rows = new Map<string, ActorRow>();

  constructor(clock: VirtualClock, random: Random, send: (message: SimulatedMessage) => void) {
    this.#clock = clock;
    this.random = random;
    this.send = send;
  }

  get nowMs(): number {
    return this.#clock.monotonicMs();
  }

  // Properties, so that rules may take them apart: `({ actor }) => …`.
  readonly actor = (address: Address): SimulatedActor | undefined => {
    const row = this.#rows.get(address);
    return row && shown(address, row);
  };

  readonly actors = (type?: string): readonly SimulatedActor[] => {
    const found: SimulatedActor[] = [];
    for (const name of [...this.#rows.keys()].sort()) {
      if (type === undefined || name.split('/')[1] === type)
        found.push(shown(name as Address, this.#rows.get(name)!));
    }
    return found;
  };

  readonly sleep = (ms: number): Promise<void> => this.#clock.sleep(ms);

  /** A row that a commit wrote or removed. */
  put(address: string, row: ActorRow | undefined): void {
    if (row) this.#rows.set(address, row);
    else this.#rows.delete(address);
  }

  /** No actor waits for an effect, or for a timer that is due before that time. */
  isIdle(untilMs: number): boolean {
    for (const row of this.#rows.values()) if (waitsFor(row, untilMs) !== undefined) return false;
    return true;
  }

  /** What it still waits for, as text. */
  unrest(untilMs: number): string {
    for (const [actor, row] of this.#rows) {
      const what = waitsFor(row, untilMs);
      if (what !== undefined) return `${actor} still waits for ${what}`;
    }
    return 'messages or effects are still under way';
  }
}

function waitsFor({ row, status }: ActorRow, untilMs: number): string | undefined {
  if (status === 'stopped' || status === 'quarantined' || row.snap.s !== 'active') return undefined;
  for (const { src, settled } of Object.values(row.jobs)) if (!settled) return `the effect ${src}`;
  for (const [name, { due, fired }] of Object.entries(row.timers))
    if (!fired && due - EPOCH_MS < untilMs) return `the timer ${name}`;
  return undefined;
}

const shown = (address: Address, { machine, status, row: { snap } }: ActorRow): SimulatedActor => ({
  address,
  machine,
  status: status === 'active' && snap.s !== 'active' ? snap.s : status,
  value: snap.v,
  context: snap.c,
});
