/**
 * The program in the process of a plugin: loads the plugin's code, runs its calls, and answers the
 * heartbeat.
 *
 * Boundary: it talks to troupe through descriptor 3 only; what the plugin prints goes to stdout and
 * stderr. It ends with troupe, because the pipe then ends.
 *
 * Invariant: a signal cannot reach another process: Node's permission model does not restrict
 * `process.kill`, and SIGUSR1 would open the debugger of any Node process of the same user.
 */
import { Socket } from 'node:net';
import { isTooDeep, JSON_DEPTH_MAX } from '../../../protocols/json-depth.ts';
import type { PluginDefinition, PluginFacts } from '../plugin-sdk.ts';
import { channelCall, type ChannelInput } from './channel-call.ts';
import {
  type CallKind,
  type Defined,
  type HostMessage,
  LineBuffer,
  MESSAGE_BYTES_MAX,
  type PluginMessage,
  RETRY_AFTER_MS_MAX,
} from '../wire.ts';

/** Longest text of a failure, characters. */
const FAILURE_CHARACTERS_MAX = 2_000;
const CODE_CHARACTERS_MAX = 100;

type Call = Extract<HostMessage, { type: 'call' }>;
type Run = { readonly controller: AbortController; readonly signal: AbortSignal };

/** Starts the program. @param load evaluates the plugin's code, once, when troupe says so */
export function servePlugin(load: () => Promise<{ readonly default?: unknown }>): void {
  refuseSignals();
  new Server(load).listen();
}

class Server {
  readonly #load: () => Promise<{ readonly default?: unknown }>;
  readonly #pipe = new Socket({ fd: 3 });
  readonly #runs = new Map<number, AbortController>();
  readonly #asks = new Map<number, (error: { readonly message: string } | undefined) => void>();
  #asked = 0;
  #plugin: PluginDefinition = { name: '', version: '' };
  #facts: PluginFacts = { id: '', config: {}, secrets: {} };

  constructor(load: () => Promise<{ readonly default?: unknown }>) {
    this.#load = load;
  }

  listen(): void {
    const lines = new LineBuffer();
    this.#pipe.on('data', (chunk: Buffer) => {
      for (const line of lines.add(chunk)) this.#onMessage(JSON.parse(line) as HostMessage);
    });
    this.#pipe.on('error', () => process.exit(0));
    this.#pipe.on('close', () => process.exit(0));
  }

  #onMessage(message: HostMessage): void {
    switch (message.type) {
      case 'start':
        return void this.#start(message);
      case 'call':
        return void this.#call(message);
      case 'cancel':
        return this.#runs.get(message.call)?.abort();
      case 'reply':
        return this.#asks.get(message.ask)?.(message.error);
      case 'ping':
        return void this.#send({ type: 'pong', beat: message.beat });
      case 'stop':
        return void this.#stop();
    }
  }

  async #start({ id, config, secrets }: Extract<HostMessage, { type: 'start' }>): Promise<void> {
    try {
      this.#facts = { id, config, secrets };
      this.#plugin = definitionOf((await this.#load()).default);
      await this.#plugin.start?.(this.#facts);
      await this.#send({ type: 'ready', ...definedBy(this.#plugin) });
    } catch (error) {
      await this.#send({ type: 'failed', message: failureText(error) });
    }
  }

  async #stop(): Promise<void> {
    try {
      await this.#plugin.stop?.();
    } finally {
      process.exit(0);
    }
  }

  async #call(message: Call): Promise<void> {
    const { call, timeoutMs } = message;
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), timeoutMs);
    this.#runs.set(call, controller);
    try {
      const value = await this.#run(message, { controller, signal: controller.signal });
      await this.#send({ type: 'result', call, ...(value === undefined ? {} : { value }) });
    } catch (error) {
      await this.#send({ type: 'error', call, ...failureOf(error) });
    } finally {
      clearTimeout(timer);
      this.#runs.delete(call);
    }
  }

  #run({ call, kind, name, input, about }: Call, { signal }: Run): unknown {
    const context = { ...about, signal, plugin: this.#facts };
    switch (kind) {
      case 'tool':
        return this.#found(this.#plugin.tools, kind, name).run(input as never, {
          ...(context as never as Parameters<NonNullable<PluginDefinition['tools']>[0]['run']>[1]),
          // Progress is never part of the result, so a delta that is none fails nothing.
          update: (delta) => void this.#send({ type: 'event', call, event: delta }).catch(() => {}),
        });
      case 'hook':
        return this.#hook(name)(input, context);
      case 'provider':
        return this.#stream(
          call,
          this.#found(this.#plugin.providers, kind, name).stream(input as never, context as never),
          signal,
        );
      case 'channel':
        return channelCall(
          this.#found(this.#plugin.channels, kind, name),
          input as ChannelInput,
          context,
          (event) => this.#ask(call, event),
        );
    }
  }

  /** Resolves with the reply of troupe. @throws Error with its error */
  #ask(call: number, event: unknown): Promise<void> {
    const ask = ++this.#asked;
    return new Promise((resolve, reject) => {
      this.#asks.set(ask, (error) => {
        this.#asks.delete(ask);
        if (error) reject(new Error(error.message));
        else resolve();
      });
      this.#send({ type: 'event', call, event, ask }).catch(reject);
    });
  }

  /** Waits while the pipe is full, so that a slow reader limits a fast model. */
  async #stream(call: number, events: AsyncIterable<unknown>, signal: AbortSignal): Promise<void> {
    for await (const event of events) {
      if (signal.aborted) return;
      await this.#send({ type: 'event', call, event });
    }
  }

  #found<Part extends { readonly name: string } | { readonly id: string }>(
    parts: readonly Part[] = [],
    kind: CallKind,
    name: string,
  ): Part {
    const found = parts.find((part) => nameOf(part) === name);
    if (found === undefined) throw new Error(`the plugin defines no ${kind} ${name}`);
    return found;
  }

  #hook(name: string): (event: unknown, about: unknown) => unknown {
    const hooks = (this.#plugin.hooks ?? {}) as Readonly<Record<string, unknown>>;
    const hook = hooks[name];
    if (typeof hook !== 'function') throw new Error(`the plugin defines no hook ${name}`);
    return hook as (event: unknown, about: unknown) => unknown;
  }

  /** Resolves when the pipe accepts more. @throws Error for a message that is too long */
  async #send(message: PluginMessage): Promise<void> {
    const line = `${JSON.stringify(message)}\n`;
    if (Buffer.byteLength(line) > MESSAGE_BYTES_MAX)
      throw new Error(`a message has more than ${MESSAGE_BYTES_MAX} bytes`);
    if (isTooDeep(line)) throw new Error(`a message is nested more than ${JSON_DEPTH_MAX} times`);
    if (this.#pipe.write(line)) return;
    await new Promise((resolve) => this.#pipe.once('drain', resolve));
  }
}

const nameOf = (part: object): unknown =>
  'name' in part ? part.name : (part as { id?: unknown }).id;

/** @throws Error that describes the fault */
function definitionOf(exported: unknown): PluginDefinition {
  if (typeof exported !== 'object' || exported === null)
    throw new Error('it has no default export; write: export default definePlugin({ … })');
  const {
    tools = [],
    providers = [],
    channels = [],
    hooks = {},
  } = exported as Partial<PluginDefinition>;
  if (![tools, providers, channels].every((list) => Array.isArray(list)))
    throw new Error('its tools, providers and channels have to be lists');
  for (const tool of tools as readonly { readonly run?: unknown }[])
    if (typeof tool?.run !== 'function') throw new Error('each tool needs a function `run`');
  for (const provider of providers as readonly { readonly stream?: unknown }[])
    if (typeof provider?.stream !== 'function')
      throw new Error('each provider needs a function `stream`');
  for (const channel of channels as readonly { readonly start?: unknown; send?: unknown }[])
    if (typeof channel?.start !== 'function' || typeof channel.send !== 'function')
      throw new Error('each channel needs functions `start` and `send`');
  for (const [name, hook] of Object.entries(hooks))
    if (typeof hook !== 'function') throw new Error(`its hook ${name} has to be a function`);
  return exported as PluginDefinition;
}

const definedBy = ({
  name,
  version,
  tools = [],
  hooks = {},
  providers = [],
  channels = [],
}: PluginDefinition): Defined => ({
  name,
  version,
  tools: tools.map((tool) => tool.name),
  hooks: Object.keys(hooks),
  providers: providers.map(({ id }) => id),
  channels: channels.map(({ id }) => id),
});

/** Code may throw anything, also what has no text. */
function failureText(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error).slice(0, FAILURE_CHARACTERS_MAX);
  } catch {
    return 'it threw a value without a text';
  }
}

/**
 * A `PluginError` is found by its fields, because each bundle has a class of its own. Others may
 * have the same fields with any value.
 */
const failureOf = (error: unknown) => {
  const { code, retryAfterMs } = (error ?? {}) as { code?: unknown; retryAfterMs?: unknown };
  return {
    message: failureText(error),
    ...(typeof code === 'string' ? { code: code.slice(0, CODE_CHARACTERS_MAX) } : {}),
    ...(typeof retryAfterMs === 'number' && retryAfterMs >= 0
      ? { retryAfterMs: Math.min(retryAfterMs, RETRY_AFTER_MS_MAX) }
      : {}),
  };
};

function refuseSignals(): void {
  const refuse = () => {
    throw new Error('a plugin cannot send signals');
  };
  for (const name of ['kill', '_kill', '_debugProcess', '_debugEnd'])
    Object.defineProperty(process, name, { value: refuse, writable: false, configurable: false });
}
