/**
 * A plugin over the processes that run it, one after the other: start, failure, wait, next start.
 *
 * Boundary: plugin-process.ts has one process; restarts.ts decides when the next one starts.
 *
 * Invariants: at most one process runs. A call waits for a process that is starting, and fails at
 * once while none may start. Calls are limited, so that a plugin that hangs holds a bounded number.
 */
import { defined } from '../../protocols/defined.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { PluginRow, PluginState } from '../../protocols/plugin.ts';
import type { Clock } from '../../runtime/index.ts';
import type { FoundPlugin } from './manifest.ts';
import { type PluginCall, PluginProcess, type ProcessTimes } from './plugin-process.ts';
import { afterFailure, afterStableRun, NO_FAILURES, STABLE_MS } from './restarts.ts';
import type { Defined } from './wire.ts';

/** Calls of one plugin that are not answered yet; more are refused. */
export const CALLS_MAX = 64;

export type PluginOptions = {
  readonly found: FoundPlugin;
  readonly config: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly flags: readonly string[];
  readonly memoryMb: number;
  readonly clock: Clock;
  readonly times: ProcessTimes;
  /** bundles the code. @throws Error that describes the fault */
  readonly bundle: () => Promise<string>;
  readonly onPrint: (line: string, isError: boolean) => void;
  /** called for each failure */
  readonly onFailure: (why: string) => void;
};

type LastError = { readonly at: number; readonly message: string };

export class Plugin {
  readonly id: string;
  readonly #o: PluginOptions;
  #state: PluginState = 'stopped';
  #since: number;
  #code: string | undefined;
  #process: PluginProcess | undefined;
  #starting: Promise<PluginProcess> | undefined;
  /** The stop of the process before. */
  #ending: Promise<void> | undefined;
  #restarts = NO_FAILURES;
  #starts = 0;
  #nextStartAt: number | undefined;
  #cancelTimer: () => void = () => {};
  #lastError: LastError | undefined;
  #calls = 0;
  #isClosed = false;

  constructor(options: PluginOptions) {
    this.id = options.found.id;
    this.#o = options;
    this.#since = options.clock.wallMs();
  }

  get found(): FoundPlugin {
    return this.#o.found;
  }

  /** Starts the process if none runs or waits to be started; its outcome is in `row`. */
  start(): void {
    if (this.#state === 'stopped') void this.#running().catch(() => {});
  }

  /** Ends the process, reads the code again, and starts with a closed circuit. */
  async restart(): Promise<void> {
    await this.#stop();
    this.#restarts = NO_FAILURES;
    await this.#running();
  }

  /** Ends the process permanently. May be repeated. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#stop();
  }

  /** As PluginProcess.call. @throws also TroupeError UNAVAILABLE while no process may start */
  async call(call: PluginCall): Promise<unknown> {
    if (this.#calls >= CALLS_MAX)
      throw new TroupeError(
        'RATE_LIMIT_EXCEEDED',
        `the plugin ${this.id} has ${CALLS_MAX} unanswered calls`,
      );
    this.#calls++;
    try {
      return await (await this.#running()).call(call);
    } finally {
      this.#calls--;
    }
  }

  /** Records that the plugin returned something invalid. */
  onInvalid(why: string): void {
    this.#lastError = { at: this.#o.clock.wallMs(), message: why };
  }

  row(): PluginRow {
    const { manifest, version } = this.#o.found;
    const { tools = [], hooks = [], providers = [], channels = [] } = manifest;
    const memoryBytes = this.#state === 'running' ? this.#process?.memoryBytes() : undefined;
    return {
      id: this.id,
      version,
      state: this.#state,
      since: this.#since,
      restarts: Math.max(0, this.#starts - 1),
      ...defined({ lastError: this.#lastError, nextStartAt: this.#nextStartAt, memoryBytes }),
      tools: tools.map(({ name }) => name),
      hooks: [...hooks],
      providers: providers.map(({ id }) => id),
      channels: channels.map(({ id }) => id),
    };
  }

  async #stop(): Promise<void> {
    const process = await (this.#starting?.catch(() => undefined) ?? this.#process);
    this.#cancelTimer();
    this.#enter('stopped');
    // A call may start the next process at once: with the present code, and when this one has
    // ended.
    this.#code = undefined;
    this.#ending = process?.stop();
    await this.#ending;
  }

  #running(): Promise<PluginProcess> {
    if (this.#isClosed)
      return Promise.reject(new TroupeError('UNAVAILABLE', `the plugin ${this.id} was stopped`));
    if (this.#state === 'running' && this.#process) return Promise.resolve(this.#process);
    if (this.#starting) return this.#starting;
    if (this.#state === 'stopped') return this.#launch();
    const { clock } = this.#o;
    const retryAfterMs = Math.max(0, (this.#nextStartAt ?? clock.wallMs()) - clock.wallMs());
    const state = this.#state === 'circuit-open' ? 'failed too often' : 'waits for its next start';
    const why = `the plugin ${this.id} ${state}: ${this.#lastError?.message}`;
    return Promise.reject(new TroupeError('UNAVAILABLE', why, { retryAfterMs }));
  }

  #launch(): Promise<PluginProcess> {
    const starting = this.#started().finally(() => {
      if (this.#starting === starting) this.#starting = undefined;
    });
    this.#starting = starting;
    return starting;
  }

  /** @throws TroupeError UNAVAILABLE with the reason, after it has been recorded */
  async #started(): Promise<PluginProcess> {
    this.#enter('starting');
    this.#starts++;
    let process: PluginProcess | undefined;
    try {
      await this.#ending;
      this.#code ??= await this.#o.bundle();
      process = await PluginProcess.start({ ...this.#o, id: this.id, code: this.#code });
      const { ended } = process;
      const first = await Promise.race([process.ready, ended.then((why) => why ?? 'was stopped')]);
      if (typeof first === 'string') throw new Error(first);
      assertAsDeclared(this.#o.found, first);
      this.#process = process;
      this.#enter('running');
      this.#watch(process);
      return process;
    } catch (error) {
      const { message } = errorData(error);
      await process?.stop();
      this.#onFailure(message);
      throw new TroupeError('UNAVAILABLE', `the plugin ${this.id} ${message}`, { cause: error });
    }
  }

  #watch(process: PluginProcess): void {
    const cancel = this.#o.clock.after(STABLE_MS, () => {
      this.#restarts = afterStableRun(this.#restarts);
    });
    void process.ended.then((why) => {
      cancel();
      if (this.#process === process) this.#process = undefined;
      if (why !== undefined && this.#state === 'running') this.#onFailure(why);
    });
  }

  #onFailure(message: string): void {
    const { clock, onFailure } = this.#o;
    this.#lastError = { at: clock.wallMs(), message };
    const { restarts, waitMs } = afterFailure(this.#restarts, clock.wallMs());
    this.#restarts = restarts;
    this.#enter(restarts.isOpen ? 'circuit-open' : 'backing-off');
    this.#nextStartAt = clock.wallMs() + waitMs;
    this.#cancelTimer = clock.after(waitMs, () => void this.#launch().catch(() => {}));
    onFailure(message);
  }

  #enter(state: PluginState): void {
    this.#state = state;
    this.#since = this.#o.clock.wallMs();
    this.#nextStartAt = undefined;
  }
}

/** @throws Error when the code defines something else than the manifest declares */
function assertAsDeclared({ id, version, manifest }: FoundPlugin, defines: Defined): void {
  const { tools = [], hooks = [], providers = [], channels = [] } = manifest;
  if (defines.name !== id)
    throw new Error(`its code has the name ${defines.name}, the manifest has the id ${id}`);
  if (defines.version !== version)
    throw new Error(`its code has version ${defines.version}, package.json has ${version}`);
  const pairs = [
    ['tool', tools.map(({ name }) => name), defines.tools],
    ['hook', hooks, defines.hooks],
    ['provider', providers.map((provider) => provider.id), defines.providers],
    ['channel', channels.map((channel) => channel.id), defines.channels],
  ] as const;
  for (const [kind, declared, found] of pairs) {
    const missing = declared.find((name) => !found.includes(name));
    if (missing !== undefined)
      throw new Error(`its code has no ${kind} ${missing}, which the manifest declares`);
    const more = found.find((name) => !(declared as readonly string[]).includes(name));
    if (more !== undefined)
      throw new Error(`its code has the ${kind} ${more}, which the manifest does not declare`);
  }
}
