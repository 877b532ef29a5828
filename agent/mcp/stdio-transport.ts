/**
 * One process of a stdio server, behind a boundary: it receives and sends JSON-RPC messages, one a
 * line.
 *
 * Invariants: the process and all that it started end with the transport, and with this process. A
 * line that is too long, or a process that does not read, ends it. Lines that are no messages are
 * printed like stderr.
 */
import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/client';
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock } from '../../runtime/index.ts';
import { Printed } from '../plugins/printed.ts';
import { readThrottled } from '../plugins/throttled.ts';
import { LineBuffer } from '../plugins/wire.ts';
import type { Boundary, CommandEnd, RunningCommand } from '../sandbox/boundary.ts';
import { DEFAULT_LIMITS } from '../sandbox/supervised.ts';

/** Largest message, bytes. */
export const MESSAGE_BYTES_MAX = 4 * 1_048_576;
/** Bytes that wait for the process to read them. */
const QUEUED_BYTES_MAX = 4 * MESSAGE_BYTES_MAX;
const PRINTED_BYTES_PER_SECOND_MAX = 1_048_576;
const READ_BYTES_PER_SECOND_MAX = 64 * 1_048_576;
/** Until a process that was asked to end is killed, milliseconds. */
const STOP_MS = 2_000;
/** JSON-RPC 2.0. */
const INTERNAL_ERROR = -32_603;
/** The longest time that a timer can measure: the process may run as long as it is used. */
const RUN_MS = 2_147_483_647;

export type StdioOptions = {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  readonly network: boolean;
  readonly boundary: Boundary;
  readonly clock: Clock;
  /** receives what the process prints */
  readonly onPrint: (line: string) => void;
};

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport['onmessage']>;
  /** By these two fields the SDK recognizes a transport to a process. */
  readonly stderr = null;
  readonly pid: number;
  /** Why the process has ended; undefined after `close`. Never rejects. */
  readonly ended: Promise<string | undefined>;
  readonly #running: RunningCommand;
  readonly #options: StdioOptions;
  readonly #printed: Printed;
  #why: string | undefined;
  /** requests without an answer */
  readonly #open = new Set<RequestId>();
  #isClosing = false;
  #isStarted = false;

  private constructor(running: RunningCommand, options: StdioOptions) {
    this.#running = running;
    this.#options = options;
    this.pid = running.pid;
    this.#printed = new Printed(options.onPrint, options.clock);
    this.ended = running.end.then((end) => this.#onEnd(end));
    const limits = { bytesPerSecondMax: PRINTED_BYTES_PER_SECOND_MAX, clock: options.clock };
    readThrottled(running.stderr, limits, this.#printed.reader(true));
  }

  /** Starts the process. @throws TroupeError UNAVAILABLE without a boundary or a program */
  static async open(options: StdioOptions): Promise<StdioTransport> {
    const { argv, env, cwd, network, boundary } = options;
    const running = await boundary.run({
      argv,
      env,
      network,
      ...(cwd === undefined ? { access: 'none' } : { workspace: cwd, access: 'rw' }),
      limits: { ...DEFAULT_LIMITS, timeoutMs: RUN_MS },
      signal: new AbortController().signal,
    });
    return new StdioTransport(running, options);
  }

  /** Reads messages from now on. */
  start(): Promise<void> {
    if (this.#isStarted) return Promise.resolve();
    this.#isStarted = true;
    const { clock } = this.#options;
    const lines = new LineBuffer();
    const limits = { bytesPerSecondMax: READ_BYTES_PER_SECOND_MAX, clock };
    readThrottled(this.#running.stdout, limits, (chunk) => {
      for (const line of lines.add(chunk)) this.#onLine(line);
      if (lines.pendingBytes > MESSAGE_BYTES_MAX) this.#failByLength();
    });
    return Promise.resolve();
  }

  /** @throws TroupeError UNAVAILABLE when the process has ended or does not read */
  send(message: JSONRPCMessage): Promise<void> {
    if ('method' in message && 'id' in message) this.#open.add(message.id);
    const { stdin } = this.#running;
    if (!stdin.writable) return Promise.reject(new TroupeError('UNAVAILABLE', 'it has ended'));
    if (stdin.writableLength > QUEUED_BYTES_MAX) this.#fail('does not read what it receives');
    stdin.write(`${JSON.stringify(message)}\n`);
    return Promise.resolve();
  }

  /** Closes its input, and kills it after a time. Resolves when no process is left. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#running.stdin.end();
    const cancel = this.#options.clock.after(STOP_MS, () => this.#running.kill());
    await this.ended;
    cancel();
  }

  #onLine(line: string): void {
    if (line.length > MESSAGE_BYTES_MAX) return this.#failByLength();
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return this.#printed.reader(false)(Buffer.from(`${line}\n`));
    }
    const { id, method } = (message ?? {}) as {
      readonly id?: RequestId;
      readonly method?: unknown;
    };
    if (id !== undefined && method === undefined) this.#open.delete(id);
    try {
      // sound: the SDK checks every message
      this.onmessage?.(message as JSONRPCMessage);
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }

  /** Open requests are answered, because a repeat would end in the same way. */
  #failByLength(): void {
    if (this.#why !== undefined) return;
    const why = `sent a message of more than ${MESSAGE_BYTES_MAX} bytes`;
    this.#fail(why);
    const message = `the server ${why}; whether it did what was asked is not known`;
    for (const id of this.#open)
      this.onmessage?.({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } });
    this.#open.clear();
  }

  #fail(why: string): void {
    this.#why ??= why;
    this.#running.kill();
  }

  #onEnd({ code, ended }: CommandEnd): string | undefined {
    const last = this.#printed.lastError();
    const how = ended === 'exit' ? `exit code ${code}` : ended;
    const why = this.#why ?? `ended (${how})${last === undefined ? '' : `: ${last}`}`;
    this.onclose?.();
    return this.#isClosing ? undefined : why;
  }
}
