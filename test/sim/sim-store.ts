/**
 * SimStore: the embedded store of a simulated process, with its real log, recovery and checkpoints,
 * on a disk that fails with the process or with the machine. With durability `process` only the
 * process fails, because a power loss may then lose answered appends, which an auditor could not
 * distinguish from a fault.
 */
import type { Log } from '../../runtime/log/log.ts';
import { type Durability, openWalStore, type WalStore } from '../../runtime/log/wal-store.ts';
import { entriesOf, type Frame } from '../../runtime/log/wal/frame.ts';
import { SimulatedDisk } from '../runtime/log/simulated-disk.ts';
import type { SimProcess } from '../../library/simulation/process.ts';
import type { Random } from '../../library/simulation/random.ts';
import type { Stored } from './sim-log.ts';
import type { VirtualClock } from '../../library/simulation/virtual-clock.ts';

export type SimStoreOptions = {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly cell: string;
  readonly durability: Durability;
  /** notified of every entry when it can no longer be lost */
  readonly onStored: (entry: Stored) => void;
};

/** Of a value, before the bytes of its entry. */
const VALUE_HEADER_BYTES = 12;

export class SimStore {
  readonly disk = new SimulatedDisk();
  readonly #o: SimStoreOptions;
  /** of the process that runs */
  log: Log | undefined;
  #lastFrame = 0;

  constructor(options: SimStoreOptions) {
    this.#o = options;
    const { clock, random, durability } = options;
    this.disk.delay = () => clock.sleep(random.whole(0, 20));
    this.disk.onFrame = (frame) => this.#report(frame);
    this.disk.frameCounts = durability === 'power' ? 'synced' : 'written';
  }

  open(process: SimProcess, opened: (store: WalStore) => void): void {
    const { cell, durability, random } = this.#o;
    openWalStore({
      ...this.disk.open(),
      path: '/data',
      cell,
      durability,
      clock: process.clock,
      release: async () => {},
      atTurnEnd: (call) => void process.clock.after(0, call),
      syncEveryMs: random.whole(0, 50),
      checkpointEveryMs: random.whole(0, 500),
      checkpointBytes: random.pick([1, 10_000, 1_000_000]),
    }).then(
      (store) =>
        process.enter(() => {
          this.log = store.log;
          opened(store);
        }),
      (error: unknown) => {
        throw error;
      },
    );
  }

  /** @returns what happened */
  crash(): string {
    const { durability, random } = this.#o;
    if (durability === 'power' && random.chance(0.5)) {
      this.disk.loseSuffix(random);
      return 'the machine loses power';
    }
    this.disk.kill(random);
    return 'the process is killed';
  }

  calm(): void {
    this.disk.isFull = false;
    this.disk.nextWrite = 'fits';
  }

  #report(frame: Frame): void {
    if (frame.number <= this.#lastFrame) return;
    this.#lastFrame = frame.number;
    for (const { subject, position, value } of entriesOf(frame)) {
      const bytes = Uint8Array.from(value.subarray(VALUE_HEADER_BYTES));
      this.#o.onStored({ subject, position, bytes, logTimeMs: value.readDoubleLE(4) });
    }
  }
}
