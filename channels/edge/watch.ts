/**
 * Receives task events from the Bus for the clients that wait at this Edge. All share one
 * subscription. The Bus may lose a message, so waiting clients also poll the row.
 */
import {
  isFinal,
  taskAddress,
  TASKS_INDEX,
  type TaskEvent,
  type TaskRow,
  taskTopic,
  type TaskView,
} from '../../protocols/task.ts';
import type { Clock, Index, System } from '../../runtime/index.ts';
import type { Until } from './edge.ts';

/** Receives the task after an event; undefined when the watch ends. */
type Listener = (view: TaskView | undefined) => void;

export type WatchOptions = {
  readonly bus: Pick<System['bus'], 'subscribe'>;
  readonly index: Pick<Index, 'get'>;
  readonly clock: Clock;
};

/** Interval in which waiting clients poll a row, because events may be lost. */
const POLL_MS = 1_000;
const FIRST_POLL_MS = 100;

export class TaskWatch {
  readonly #o: WatchOptions;
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #unsubscribe: () => void;
  #closed = false;

  constructor(options: WatchOptions) {
    this.#o = options;
    this.#unsubscribe = options.bus.subscribe(taskTopic('*', '*'), ({ payload }) => {
      if (this.#listeners.size === 0) return;
      const { task } = payload as TaskEvent;
      this.#notify(task.task_id, task);
    });
  }

  /** The task's row, which contains the complete result, even if it was too large for an event. */
  row(tenant: string, taskId: string): TaskRow | undefined {
    return this.#o.index.get<TaskRow>(TASKS_INDEX, tenant, taskId, taskAddress(tenant, taskId));
  }

  /**
   * Returns a function that ends the subscription. After the end of the watch the listener is
   * called immediately.
   */
  on(taskId: string, listener: Listener): () => void {
    if (this.#closed) {
      listener(undefined);
      return () => {};
    }
    const listeners = this.#listeners.get(taskId) ?? new Set();
    this.#listeners.set(taskId, listeners.add(listener));
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) this.#listeners.delete(taskId);
    };
  }

  /**
   * Subscribes to the end of a task. Call it before sending what may end the task.
   * @param leftMs remaining time for the wait
   */
  ending(taskId: string, leftMs: () => number): Ending {
    return new Ending(this, this.#o.clock, taskId, leftMs);
  }

  /**
   * The events of the task from `after` + 1 on, each once and in order. Ends when the task has
   * ended or was removed, or when `signal` aborts. A missed event is sent with the current task.
   */
  async *follow(
    tenant: string,
    taskId: string,
    { after, signal }: { after: number; signal: AbortSignal },
  ): AsyncGenerator<TaskEvent, void, void> {
    let sent = after;
    const latest = new LatestView(this.#o.clock, signal);
    const off = this.on(taskId, (view) => latest.put(view));
    try {
      for (let view = this.row(tenant, taskId)?.view; view !== undefined; ) {
        const now = this.withResult(view);
        for (const entry of now.events) {
          if (entry.n <= sent) continue;
          if (signal.aborted) return;
          sent = entry.n;
          const { n, event, at } = entry;
          yield { event, event_id: `${taskId}.${n}`, n, at, task: now };
        }
        if (isFinal(view.state)) return;
        const next = await latest.next();
        if (next === 'ended') return;
        view = next ?? this.row(tenant, taskId)?.view;
      }
    } finally {
      off();
      latest.close();
    }
  }

  /** Subscribes to the task, until it ends or waits. Call it before reading the task. */
  settling(taskId: string, until: Until): Settling {
    return new Settling(this, this.#o.clock, taskId, until);
  }

  /** The task when it has ended or waits, or as it is when the time is over. */
  async settled(taskId: string, until: Until, read: () => Promise<TaskView>): Promise<TaskView> {
    const settling = this.settling(taskId, until);
    try {
      return await settling.from(await read());
    } finally {
      settling.stop();
    }
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    for (const taskId of this.#listeners.keys()) this.#notify(taskId, undefined);
    this.#listeners.clear();
  }

  /** The view with its result: an event may omit a large one. */
  withResult(view: TaskView): TaskView {
    if (view.state !== 'SUCCEEDED' || view.result !== undefined) return view;
    const row = this.row(view.tenant_id, view.task_id);
    return row !== undefined && isFinal(row.view.state) ? row.view : view;
  }

  #notify(taskId: string, view: TaskView | undefined): void {
    for (const listener of this.#listeners.get(taskId) ?? []) listener(view);
  }
}

/** The newest known event of one task, for one follower. */
class LatestView {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #view: TaskView | undefined;
  #ended = false;
  #wake: () => void = () => {};

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    signal.addEventListener('abort', this.#end, { once: true });
    if (signal.aborted) this.#end();
  }

  /** Events may arrive out of order. */
  put(view: TaskView | undefined): void {
    if (view === undefined) this.#ended = true;
    else if (view.events.length >= (this.#view?.events.length ?? 0)) this.#view = view;
    this.#wake();
  }

  /** Resolves with undefined after a while without events, so that the caller reads the row. */
  async next(pollMs = POLL_MS): Promise<TaskView | 'ended' | undefined> {
    if (this.#view === undefined && !this.#ended) await this.#changed(pollMs);
    if (this.#ended && this.#view === undefined) return 'ended';
    const view = this.#view;
    this.#view = undefined;
    return view;
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#end);
  }

  readonly #end = (): void => this.put(undefined);

  #changed(pollMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(pollMs, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}

/**
 * Waits until one task has ended or waits for something itself. That it waits is no event, so its
 * row is read: after a tenth of a second, then more rarely.
 */
class Settling {
  readonly #watch: TaskWatch;
  readonly #clock: Clock;
  readonly #until: Until;
  readonly #latest: LatestView;
  readonly #off: () => void;

  constructor(watch: TaskWatch, clock: Clock, taskId: string, until: Until) {
    this.#watch = watch;
    this.#clock = clock;
    this.#until = until;
    this.#latest = new LatestView(clock, until.signal);
    this.#off = watch.on(taskId, (changed) => this.#latest.put(changed));
  }

  /** The task then, or as it is when the time is over. @param known its last known state */
  async from(known: TaskView): Promise<TaskView> {
    const { signal, limitMs = Number.POSITIVE_INFINITY, onChange } = this.#until;
    const row = () => this.#watch.row(known.tenant_id, known.task_id)?.view;
    const endMs = this.#clock.monotonicMs() + limitMs;
    let last = known;
    for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(2 * pollMs, POLL_MS)) {
      const leftMs = endMs - this.#clock.monotonicMs();
      if (isFinal(last.state) || last.waiting || signal.aborted || leftMs <= 0)
        return this.#watch.withResult(last);
      const next = await this.#latest.next(Math.min(pollMs, leftMs));
      if (next === 'ended') return this.#watch.withResult(row() ?? last);
      last = next ?? row() ?? last;
      if (next && !isFinal(next.state)) onChange?.(next);
    }
  }

  stop(): void {
    this.#off();
    this.#latest.close();
  }
}

/** Waits for the end of one task. */
class Ending {
  readonly #watch: TaskWatch;
  readonly #clock: Clock;
  readonly #stop: () => void;
  readonly #leftMs: () => number;
  #ended: TaskView | undefined;
  #isFinished = false;
  #wake: () => void = () => {};

  constructor(watch: TaskWatch, clock: Clock, taskId: string, leftMs: () => number) {
    this.#watch = watch;
    this.#clock = clock;
    this.#leftMs = leftMs;
    this.#stop = watch.on(taskId, (view) => {
      if (view !== undefined && !isFinal(view.state)) return;
      this.#ended = view;
      this.#isFinished = true;
      this.#wake();
    });
  }

  /** The task when it ends, or as it is when the time is over. @param known its last known state */
  async from(known: TaskView): Promise<TaskView> {
    if (isFinal(known.state)) return known;
    const ms = this.#leftMs();
    if (ms <= 0) return known;
    if (!this.#isFinished) await this.#finished(ms);
    if (this.#ended !== undefined) return this.#watch.withResult(this.#ended);
    return this.#watch.row(known.tenant_id, known.task_id)?.view ?? known;
  }

  stop(): void {
    this.#stop();
  }

  #finished(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(ms, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}
