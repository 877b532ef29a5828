/**
 * DiskWatch: measures the free space of every disk on which this process stores data, and puts the
 * process into read-only mode when one is nearly full. It leaves that mode by itself when there is
 * room again.
 *
 * Boundary: it decides; `System` refuses messages by `refusalOf`, and the routes of files by
 * `assertRoom`. What the store does on a disk that is completely full is its own matter: it refuses
 * each append that fails.
 */
import type { Logger } from 'pino';
import { initialTransition, transition } from 'xstate';
import type { DiskSpace, DiskState } from '../../protocols/disk.ts';
import type { Address } from '../../protocols/address.ts';
import { type ErrorData, TroupeError } from '../../protocols/errors.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { Config } from '../../runtime/config/index.ts';
import type { Metrics, SendOptions } from '../../runtime/index.ts';
import { type DiskConfig, measuredDisks } from './disk-space.ts';
import { diskMachine } from './machine.ts';
import { isAcceptedReadOnly, startsWork } from './read-only-rules.ts';

const MEASURE_EVERY_MS = 1_000;
const RETRY_MS = 10_000;

type Snapshot = ReturnType<typeof initialTransition<typeof diskMachine>>[0];
type Measured = DiskSpace & { readonly snapshot: Snapshot };

export type DiskWatchOptions = {
  readonly config: DiskConfig;
  /** receives each change of a disk's state */
  readonly onChange: (now: DiskSpace, text: string) => void;
};

const ORDER: readonly DiskState[] = ['enough', 'low', 'readOnly'];

export class DiskWatch {
  readonly #o: DiskWatchOptions;
  readonly #timer: NodeJS.Timeout;
  #rules: DiskConfig['runtime']['disk'];
  readonly #modes = new Set<(isReadOnly: boolean) => void>();
  #disks: ReadonlyMap<number, Measured> = new Map();
  #isReadOnly = false;

  constructor(options: DiskWatchOptions) {
    this.#o = options;
    this.#rules = options.config.runtime.disk;
    this.#measure();
    this.#timer = setInterval(() => this.#measure(), MEASURE_EVERY_MS).unref();
  }

  /** Other thresholds are in effect. */
  configured({ runtime }: Pick<Config, 'runtime'>): void {
    this.#rules = runtime.disk;
    this.#measure();
  }

  /** Of the disk with the worst state; 0 enough, 1 low, 2 read-only. */
  get level(): number {
    return Math.max(0, ...this.disks().map(({ state }) => ORDER.indexOf(state)));
  }

  disks(): readonly DiskSpace[] {
    return Array.from(this.#disks.values(), ({ snapshot: _, ...disk }) => disk);
  }

  /** The text for operators; undefined while there is room. */
  readonly fault = (): string | undefined => {
    const full = this.disks().find(({ state }) => state === 'readOnly');
    return full && readOnlyText(full);
  };

  /** Why a message is refused at present: UNAVAILABLE, details.reason DISK_FULL. */
  readonly refusalOf = (message: Message, options: SendOptions): ErrorData | undefined =>
    isAcceptedReadOnly(message, options) ? undefined : this.#error()?.toData();

  /** Whether due timers of an actor wait for the end of read-only mode. */
  readonly holdsTimersOf = (actor: Address): boolean => this.#isReadOnly && startsWork(actor);

  /** @throws TroupeError UNAVAILABLE, details.reason DISK_FULL, in read-only mode */
  readonly assertRoom = (): void => {
    const error = this.#error();
    if (error) throw error;
  };

  /** Calls it when read-only mode begins or ends, and now if it has begun. */
  onMode(call: (isReadOnly: boolean) => void): void {
    this.#modes.add(call);
    if (this.#isReadOnly) call(true);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #error(): TroupeError | undefined {
    // Asked for every message.
    if (!this.#isReadOnly) return undefined;
    const why = this.fault();
    return why === undefined
      ? undefined
      : new TroupeError('UNAVAILABLE', why, {
          retryAfterMs: RETRY_MS,
          details: { reason: 'DISK_FULL' },
        });
  }

  #measure(): void {
    const next = new Map<number, Measured>();
    for (const { device, ...space } of measuredDisks(this.#o.config, this.#rules)) {
      const from = this.#disks.get(device)?.snapshot ?? initialTransition(diskMachine)[0];
      const [snapshot] = transition(diskMachine, from, { type: 'disk.measured', ...space });
      next.set(device, { ...space, state: snapshot.value, snapshot });
    }
    const before = this.#disks;
    this.#disks = next;
    for (const [dev, disk] of next) {
      const was = before.get(dev)?.state ?? 'enough';
      if (disk.state !== was) this.#o.onChange(disk, changeText(disk));
    }
    const isReadOnly = this.level === ORDER.indexOf('readOnly');
    if (isReadOnly === this.#isReadOnly) return;
    this.#isReadOnly = isReadOnly;
    for (const call of this.#modes) call(isReadOnly);
  }
}

/** With its log lines and the metric of its state. */
export function watchDisks(
  config: DiskConfig,
  {
    log,
    metrics,
  }: {
    readonly log: Pick<Logger, 'info' | 'warn'>;
    readonly metrics: Pick<Metrics, 'gauge'>;
  },
): DiskWatch {
  const watch = new DiskWatch({
    config,
    onChange: ({ state, folder }, text) =>
      state === 'enough' ? log.info({ folder }, text) : log.warn({ alarm: true, folder }, text),
  });
  metrics.gauge(
    'troupe_disk_state',
    'of the fullest disk with data: 0 enough space, 1 little, 2 read-only mode',
    () => watch.level,
  );
  return watch;
}

const MIB = 2 ** 20;
const mib = (bytes: number): string => `${Math.round(bytes / MIB)} MiB`;

/** What happened and what to do, for callers and operators. */
const readOnlyText = ({ folder, freeBytes, thresholds }: DiskSpace): string =>
  `the disk with ${folder} is nearly full (${mib(freeBytes)} free, under ${mib(thresholds.readOnly)}), so no ` +
  'new work is accepted: free space on it, or lower runtime.disk.readOnlyBytes. Reading and deleting ' +
  'work, and new work is accepted again by itself when there is space';

const changeText = (disk: DiskSpace): string => {
  const { state, folder, freeBytes, sizeBytes } = disk;
  if (state === 'readOnly') return readOnlyText(disk);
  const free = `${mib(freeBytes)} of ${mib(sizeBytes)} free on the disk with ${folder}`;
  return state === 'low' ? `little space is left: ${free}` : `there is enough space again: ${free}`;
};
