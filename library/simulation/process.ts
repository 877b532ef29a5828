/**
 * SimProcess: the boundary of one process. Everything that reaches the code of a process from
 * outside (a timer, an answer of a port, a message) passes `enter`: at once while the process runs,
 * later while it is paused, never after it has died. Messages that a process sent before it died
 * are still delivered.
 */
import { TroupeError } from '../../protocols/errors.ts';
import type { Blobs } from '../../runtime/blobs/blobs.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Follow, Log } from '../../runtime/log/log.ts';
import type { Put, State } from '../../runtime/state/state.ts';
import type { VirtualClock } from './virtual-clock.ts';

export class SimProcess {
  readonly name: string;
  readonly clock: Clock;
  #state: 'running' | 'paused' | 'dead' = 'running';
  #waiting: (() => void)[] = [];

  /**
   * @param skewMs the error of its wall clock
   * @param isSteady whether the process is never paused
   */
  constructor(name: string, clock: VirtualClock, skewMs: number, isSteady = false) {
    this.name = name;
    this.clock = {
      wallMs: () => clock.wallMs() + skewMs,
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, call) => clock.after(delayMs, () => this.enter(call)),
      ...(isSteady && { isSteady: true }),
    };
  }

  get alive(): boolean {
    return this.#state !== 'dead';
  }

  get running(): boolean {
    return this.#state === 'running';
  }

  enter(call: () => void): void {
    if (this.#state === 'running') call();
    else if (this.#state === 'paused') this.#waiting.push(call);
  }

  pause(): void {
    if (this.#state === 'running') this.#state = 'paused';
  }

  resume(): void {
    if (this.#state !== 'paused') return;
    this.#state = 'running';
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const call of waiting) this.enter(call);
  }

  kill(): void {
    this.#state = 'dead';
    this.#waiting = [];
  }

  /** The log as this process reaches it. */
  log(log: Log): Log {
    const { atomic } = log;
    return {
      atomic,
      append: (subject, bytes, options) => this.#call(() => log.append(subject, bytes, options)),
      last: (subject) => this.#call(() => log.last(subject)),
      readLast: (subject) => this.#call(() => log.readLast(subject)),
      read: (subject, from, options) => this.#call(() => log.read(subject, from, options)),
      follow: (subject, from) => this.#follow(log.follow(subject, from)),
      trim: (subject, upTo) => this.#call(() => log.trim(subject, upTo)),
      close: async () => {},
    };
  }

  #follow(follow: Follow): Follow {
    return {
      next: () => this.#call(() => follow.next()),
      get pending() {
        return follow.pending;
      },
      close: () => follow.close(),
    };
  }

  blobs(blobs: Blobs): Blobs {
    return {
      put: (name, bytes) => this.#call(() => blobs.put(name, bytes)),
      get: (name) => this.#call(() => blobs.get(name)),
      delete: (name) => this.#call(() => blobs.delete(name)),
      list: (prefix) => this.#call(() => blobs.list(prefix)),
    };
  }

  bus(bus: Bus): Bus {
    return {
      get connected() {
        return bus.connected;
      },
      publish: (subject, payload) => (this.alive ? bus.publish(subject, payload) : undefined),
      subscribe: (pattern, on) => bus.subscribe(pattern, (m) => this.enter(() => on(m))),
      request: (subject, payload, options) =>
        this.#call(() => bus.request(subject, payload, options)),
      close: async () => {},
    };
  }

  /**
   * Rows on this process's disk, or in the shared store.
   * @param onWritten called when rows were written, before the process receives the result
   * @param isFull whether there is no space for rows
   */
  state(state: State, onWritten: (puts: readonly Put[]) => void, isFull: () => boolean): State {
    return {
      get: (shard, table, key) => state.get(shard, table, key),
      range: (shard, table, options) => state.range(shard, table, options),
      scan: (shard, table, options, visit) => state.scan(shard, table, options, visit),
      dump: (shard) => state.dump(shard),
      count: (shard, table) => state.count(shard, table),
      write: (puts) =>
        this.#call(async () => {
          if (isFull()) throw new TroupeError('UNAVAILABLE', 'the disk of this machine is full');
          await state.write(puts);
          // A power loss during the write has removed rows that the dead process does not read.
          if (this.alive) onWritten(puts);
        }),
      clear: (shard) => this.#call(() => state.clear(shard)),
      close: async () => {},
    };
  }

  /** A call from the process to the outside, whose answer passes the boundary. */
  #call<T>(call: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (!this.alive) return;
      call().then(
        (value) => this.enter(() => resolve(value)),
        (error: unknown) => this.enter(() => reject(error)),
      );
    });
  }
}
