/**
 * One process of a plugin, from its start to its end: handshake, calls, heartbeat, memory.
 *
 * Boundary: it starts and ends one process and never starts another; plugin.ts decides when.
 *
 * Invariants:
 *  1. The process has an empty environment and only the permissions of its flags (spawn-plugin.ts).
 *  2. Every call ends: with a value, an error, its deadline, or the end of the process.
 *  3. The process is killed when it violates the protocol, misses its heartbeat, does not start in
 *     time, or uses more memory than it may. `ended` then has the reason.
 *  4. Messages, queued bytes and bytes per second are limited, so that a plugin that floods its
 *     pipe slows only itself.
 */
import { writeFile } from 'node:fs/promises';
import { errorData, ERRORS, type ErrorCode, TroupeError } from '../../protocols/errors.ts';
import { defined } from '../../protocols/defined.ts';
import type { Clock } from '../../runtime/index.ts';
import { killNow, useOf } from '../sandbox/process-tree.ts';
import { whenThisProcessDies } from '../sandbox/watchdog.ts';
import { messageOf } from './child-messages.ts';
import { Printed } from './printed.ts';
import { type Spawned, spawnPlugin } from './spawn-plugin.ts';
import { readThrottled } from './throttled.ts';
import {
  type CallKind,
  type Defined,
  type HostMessage,
  LineBuffer,
  MESSAGE_BYTES_MAX,
  type PluginMessage,
} from './wire.ts';

/** Time limits of a process, milliseconds. */
export type ProcessTimes = {
  /** until it is ready */
  readonly startMs: number;
  /** between two heartbeats */
  readonly beatMs: number;
  /** a heartbeat that is not answered within this time ends the process */
  readonly lateMs: number;
  /** between two looks at its memory */
  readonly memoryMs: number;
  /** for its own end, after a request to stop */
  readonly stopMs: number;
};

export const PROCESS_TIMES: ProcessTimes = {
  startMs: 15_000,
  beatMs: 5_000,
  lateMs: 10_000,
  memoryMs: 1_000,
  stopMs: 2_000,
};

/** How long the streams of a process that has ended are read, milliseconds. */
const CLOSE_MS = 1_000;
/** Bytes that wait for the process to read them. */
const QUEUED_BYTES_MAX = 4 * MESSAGE_BYTES_MAX;
/** What is read from one process in a second. */
const BYTES_PER_SECOND_MAX = MESSAGE_BYTES_MAX;
/** Messages between two heartbeats that belong to no call: some answers come too late. */
const STRAYS_MAX = 10_000;
/** Events of one call, without those that were replied to: a connection may last for weeks. */
const EVENTS_MAX = 100_000;
/** Memory of Node itself, MiB, in addition to what the plugin may use. */
const NODE_MB = 64;

export type ProcessOptions = {
  readonly id: string;
  /** the bundled program */
  readonly code: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
  /** flags of Node's permission model */
  readonly flags: readonly string[];
  readonly memoryMb: number;
  readonly times: ProcessTimes;
  readonly clock: Clock;
  /** receives the lines that the plugin prints */
  readonly onPrint: (line: string, isError: boolean) => void;
};

export type PluginCall = {
  readonly kind: CallKind;
  readonly name: string;
  /** JSON */
  readonly input: unknown;
  readonly about: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Receives each event. What it throws or rejects with answers an event that asks. */
  readonly onEvent?: (event: unknown) => void | Promise<void>;
  /** Called when the process may have received the call. */
  readonly onSent?: () => void;
};

type Pending = {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly onEvent: PluginCall['onEvent'] | undefined;
  events: number;
};

export class PluginProcess {
  readonly #o: ProcessOptions;
  readonly #spawned: Spawned;
  readonly #pending = new Map<number, Pending>();
  readonly #timers = new Set<() => void>();
  #cancelWatchdog: () => void = () => {};
  readonly #printed: Printed;
  #calls = 0;
  #beats = 0;
  #answered = 0;
  #strays = 0;
  #why: string | undefined;
  #isStopping = false;
  #onReady: (defined: Defined) => void = () => {};

  /** What its code defines. Never settles when the process ends before; `ended` does. */
  readonly ready: Promise<Defined>;
  /** Why the process has ended; never rejects. Undefined after `stop`. */
  readonly ended: Promise<string | undefined>;

  /** @throws Error when it cannot be started, or cannot receive its settings */
  static async start(options: ProcessOptions): Promise<PluginProcess> {
    const memory = `--max-old-space-size=${options.memoryMb}`;
    const spawned = await spawnPlugin([...options.flags, memory]);
    try {
      return new PluginProcess(options, spawned);
    } catch (error) {
      killNow(-spawned.pid);
      throw error;
    }
  }

  private constructor(options: ProcessOptions, spawned: Spawned) {
    this.#o = options;
    this.#spawned = spawned;
    const { id, code, config, secrets, times, clock } = options;
    const { child, pid, stdin } = spawned;
    this.#printed = new Printed(options.onPrint, clock);
    this.ready = new Promise((resolve) => (this.#onReady = resolve));
    this.ended = new Promise((resolve) => {
      child.once('exit', (...end) => {
        // Usually at once; later where a grandchild holds the streams.
        const cancel = clock.after(CLOSE_MS, () => resolve(this.#closed(...end)));
        child.once('close', () => {
          cancel();
          resolve(this.#closed(...end));
        });
      });
    });
    this.#cancelWatchdog = whenThisProcessDies('kill -s KILL -- "$1"', [`-${pid}`]);
    preferForOutOfMemory(pid);
    this.#read();
    stdin.end(code);
    this.#write({ type: 'start', id, config, secrets });
    const late = `is not ready after ${times.startMs / 1_000} s`;
    void this.ready.then(this.#after(times.startMs, () => this.#fail(late)));
    this.#beat();
    this.#watchMemory();
  }

  /** Private memory, bytes; 0 where it is unknown. */
  memoryBytes(): number {
    return useOf([this.#spawned.pid]).memoryBytes;
  }

  /**
   * Runs one call.
   * @throws TroupeError DEADLINE_EXCEEDED, CANCELLED, PAYLOAD_TOO_LARGE, RATE_LIMIT_EXCEEDED
   *   when the process does not read, UNAVAILABLE when it ended, or the code of the plugin's error
   */
  call({ signal, onEvent, onSent, ...request }: PluginCall): Promise<unknown> {
    const call = ++this.#calls;
    const { timeoutMs } = request;
    return new Promise((resolve, reject) => {
      const leave = (code: 'CANCELLED' | 'DEADLINE_EXCEEDED', why: string) => {
        settle(() => reject(new TroupeError(code, `the plugin ${this.#o.id}: ${why}`)));
        this.#writeIfRoom({ type: 'cancel', call });
      };
      const onAbort = () => leave('CANCELLED', 'the call was cancelled');
      const cancelLate = this.#after(timeoutMs, () =>
        leave('DEADLINE_EXCEEDED', `${request.name} took longer than ${timeoutMs} ms`),
      );
      const settle = (end: () => void) => {
        this.#pending.delete(call);
        cancelLate();
        signal.removeEventListener('abort', onAbort);
        end();
      };
      this.#pending.set(call, {
        resolve: (value) => settle(() => resolve(value)),
        reject: (error) => settle(() => reject(error)),
        onEvent,
        events: 0,
      });
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) return onAbort();
      try {
        this.#write({ type: 'call', call, ...request });
        onSent?.();
      } catch (error) {
        settle(() => reject(error));
      }
    });
  }

  /** Asks the process to end, and kills it after a time. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#after(this.#o.times.stopMs, () => this.#kill());
    if (this.#spawned.pipe.writableLength === 0) this.#write({ type: 'stop' });
    await this.ended;
  }

  #read(): void {
    const { clock } = this.#o;
    const limits = { bytesPerSecondMax: BYTES_PER_SECOND_MAX, clock };
    const lines = new LineBuffer();
    const { pipe, stdin, output, errors } = this.#spawned;
    readThrottled(pipe, limits, (chunk) => {
      for (const line of lines.add(chunk)) this.#onLine(line);
      if (lines.pendingBytes > MESSAGE_BYTES_MAX)
        this.#fail(`sent a message of more than ${MESSAGE_BYTES_MAX} bytes`);
    });
    readThrottled(output, limits, this.#printed.reader(false));
    readThrottled(errors, limits, this.#printed.reader(true));
    // The end of the process is what counts; a pipe may break before.
    pipe.on('error', () => {});
    stdin.on('error', () => {});
  }

  #onLine(line: string): void {
    if (this.#why !== undefined) return;
    try {
      this.#onMessage(messageOf(line));
    } catch (error) {
      this.#fail((error as Error).message);
    }
  }

  #onMessage(message: PluginMessage): void {
    switch (message.type) {
      case 'ready':
        return this.#onReady(message);
      case 'failed':
        return this.#fail(`did not start: ${message.message}`);
      case 'pong':
        if (message.beat <= this.#answered || message.beat > this.#beats) return this.#onStray();
        this.#answered = message.beat;
        return undefined;
      case 'result':
      case 'event':
      case 'error':
        return this.#onAnswer(message);
    }
  }

  #onAnswer(message: Extract<PluginMessage, { call: number }>): void {
    const pending = this.#pending.get(message.call);
    if (pending === undefined) return this.#onStray();
    switch (message.type) {
      case 'result':
        return pending.resolve(message.value);
      case 'error':
        return pending.reject(this.#errorOf(message));
      case 'event':
        if (++pending.events > EVENTS_MAX) this.#fail(`sent more than ${EVENTS_MAX} events`);
        return void this.#onEvent(pending, message);
    }
  }

  /** Never rejects: a plugin that did not ask does not learn that its event was refused. */
  async #onEvent(
    pending: Pending,
    { call, event, ask }: Extract<PluginMessage, { type: 'event' }>,
  ): Promise<void> {
    let error: { readonly code: string; readonly message: string } | undefined;
    try {
      await pending.onEvent?.(event);
    } catch (thrown) {
      const { code, message } = errorData(thrown);
      error = { code, message };
    }
    if (ask === undefined) return;
    pending.events--;
    this.#reply({ type: 'reply', call, ask, ...defined({ error }) });
  }

  /** A process that does not read its replies is a failure. */
  #reply(message: Extract<HostMessage, { type: 'reply' }>): void {
    try {
      this.#write(message);
    } catch (error) {
      this.#fail(errorData(error).message);
    }
  }

  /** A message of no call that is awaited. */
  #onStray(): void {
    if (++this.#strays > STRAYS_MAX) this.#fail('sent messages that belong to no call');
  }

  #errorOf({ message, code, retryAfterMs }: Extract<PluginMessage, { type: 'error' }>) {
    return new TroupeError(codeOf(code), `the plugin ${this.#o.id}: ${message}`, {
      ...defined({ retryAfterMs }),
    });
  }

  /** @throws TroupeError when the message is too long, or too much waits already */
  #write(message: HostMessage): void {
    const line = `${JSON.stringify(message)}\n`;
    const bytes = Buffer.byteLength(line);
    if (bytes > MESSAGE_BYTES_MAX)
      throw new TroupeError(
        'PAYLOAD_TOO_LARGE',
        `a call of the plugin ${this.#o.id} has ${bytes} bytes, at most ${MESSAGE_BYTES_MAX}`,
      );
    if (this.#spawned.pipe.writableLength + bytes > QUEUED_BYTES_MAX)
      throw new TroupeError(
        'RATE_LIMIT_EXCEEDED',
        `the plugin ${this.#o.id} does not read what it receives`,
      );
    if (this.#spawned.pipe.writable) this.#spawned.pipe.write(line);
  }

  /** A process that does not read has a full queue, and its heartbeat is late. */
  #writeIfRoom(message: Extract<HostMessage, { type: 'ping' | 'cancel' }>): void {
    if (this.#spawned.pipe.writableLength < QUEUED_BYTES_MAX / 2) this.#write(message);
  }

  #beat(): void {
    const { beatMs, lateMs } = this.#o.times;
    this.#after(beatMs, () => {
      const beat = ++this.#beats;
      this.#strays = 0;
      this.#writeIfRoom({ type: 'ping', beat });
      this.#after(lateMs, () => {
        if (this.#answered < beat) this.#fail(`did not answer for ${lateMs / 1_000} s`);
      });
      this.#beat();
    });
  }

  #watchMemory(): void {
    const bytesMax = (this.#o.memoryMb + NODE_MB) * 1_048_576;
    this.#after(this.#o.times.memoryMs, () => {
      if (this.memoryBytes() > bytesMax) this.#fail(`used more than ${this.#o.memoryMb} MiB`);
      else this.#watchMemory();
    });
  }

  /** A timer of this process, which its end cancels. */
  #after(delayMs: number, call: () => void): () => void {
    const cancel = this.#o.clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      call();
    });
    this.#timers.add(cancel);
    return () => {
      this.#timers.delete(cancel);
      cancel();
    };
  }

  #fail(why: string): void {
    this.#why ??= why;
    this.#kill();
  }

  #kill(): void {
    const { child, pid } = this.#spawned;
    if (child.exitCode === null && child.signalCode === null) killNow(-pid);
  }

  /** After the end: no call, timer or watchdog remains. */
  #closed(code: number | null, signal: string | null): string | undefined {
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#cancelWatchdog();
    killNow(-this.#spawned.pid);
    this.#spawned.pipe.destroy();
    const last = this.#printed.lastError();
    const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
    const why = this.#why ?? `ended with ${how}${last === undefined ? '' : `: ${last}`}`;
    const error = new TroupeError('UNAVAILABLE', `the plugin ${this.#o.id} ${why}`);
    for (const { reject } of this.#pending.values()) reject(error);
    return this.#isStopping ? undefined : why;
  }
}

const codeOf = (code: string | undefined): ErrorCode =>
  code !== undefined && Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'INTERNAL';

/** When the machine runs out of memory, Linux ends a plugin first. */
function preferForOutOfMemory(pid: number): void {
  if (process.platform !== 'linux') return;
  void writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => {});
}
