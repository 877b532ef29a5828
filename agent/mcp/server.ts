/**
 * One configured MCP server, of one tenant and in this process of troupe: its connections, one
 * after the other.
 *
 * Boundary: connection.ts has one connection; ../plugins/restarts.ts decides when the next one may
 * open.
 *
 * Invariants: at most one connection is open, which opens with the first use and closes when it was
 * not used for IDLE_MS. After a failure the next one waits; meanwhile each use fails at once.
 */
import type { Client } from '@modelcontextprotocol/client';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { plainText } from '../../protocols/plain-text.ts';
import { defined } from '../../protocols/defined.ts';
import { afterFailure, afterStableRun, NO_FAILURES, STABLE_MS } from '../plugins/restarts.ts';
import type { SecretMask } from '../tools/secret-mask.ts';
import { isLoginFailure } from './oauth/login-failure.ts';
import { connect, type Connection, type ConnectOptions } from './connection.ts';

/** Unanswered calls of one server; more are refused. */
const CALLS_MAX = 64;
/** How long an unused connection stays open, milliseconds. */
export const IDLE_MS = 900_000;
/** Longest wait before an HTTP server is tried again, milliseconds. */
const HTTP_WAIT_MAX_MS = 30_000;
const MESSAGE_CHARACTERS_MAX = 500;

export type McpServerOptions = Omit<ConnectOptions, 'onDeclined'> & {
  readonly secrets: SecretMask;
  /** receives each failure of a connection */
  readonly onFailure: (why: string) => void;
  readonly idleMs?: number;
};

export type McpServerState = {
  readonly state: 'closed' | 'connecting' | 'connected' | 'backing-off' | 'circuit-open';
  readonly revision?: string;
  readonly pid?: number;
  readonly lastError?: { readonly at: number; readonly message: string };
  /** epoch milliseconds */
  readonly nextStartAt?: number;
};

export class McpServer {
  readonly name: string;
  readonly #o: McpServerOptions;
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #restarts = NO_FAILURES;
  #nextStartAt = 0;
  #lastError: McpServerState['lastError'];
  #cancelIdle: () => void = () => {};
  #uses = 0;
  #isClosed = false;
  /** questions of the server that were declined, for each use that was open then */
  readonly #declined = new Set<string[]>();

  constructor(options: McpServerOptions) {
    this.name = options.name;
    this.#o = options;
  }

  get config(): McpServerOptions['config'] {
    return this.#o.config;
  }

  state(): McpServerState {
    const { clock } = this.#o;
    const isWaiting = this.#nextStartAt > clock.wallMs();
    const waiting = this.#restarts.isOpen ? 'circuit-open' : 'backing-off';
    const open = this.#connection ? 'connected' : this.#connecting ? 'connecting' : undefined;
    const transport = this.#connection?.client.transport as { readonly pid?: number } | undefined;
    return {
      state: open ?? (isWaiting ? waiting : 'closed'),
      ...defined({
        revision: this.#connection?.client.getNegotiatedProtocolVersion(),
        pid: transport?.pid,
        lastError: this.#lastError,
        nextStartAt: isWaiting ? this.#nextStartAt : undefined,
      }),
    };
  }

  /**
   * Uses the connection, which opens if none is open. `declined`: what the server asked meanwhile.
   * @throws TroupeError UNAVAILABLE when none may or can open: nothing was sent;
   *   UNAUTHORIZED when a login is needed; RATE_LIMIT_EXCEEDED; what `work` throws
   */
  async use<T>(work: (client: Client, declined: readonly string[]) => Promise<T>): Promise<T> {
    if (this.#uses >= CALLS_MAX)
      throw this.#error('RATE_LIMIT_EXCEEDED', `has ${CALLS_MAX} unanswered calls`);
    const declined: string[] = [];
    this.#uses++;
    this.#declined.add(declined);
    this.#cancelIdle();
    try {
      return await work((await this.#open()).client, declined);
    } finally {
      this.#declined.delete(declined);
      if (--this.#uses === 0) this.#closeWhenIdle();
    }
  }

  /** The connection of HTTP is not usable any more; the next use opens another one. */
  async lose(client: Client): Promise<void> {
    if (this.#connection?.client !== client) return;
    const connection = this.#connection;
    this.#connection = undefined;
    await connection.close();
  }

  /** What an error says, which may be text of the server: on one line, without secrets. */
  messageOf(error: unknown): string {
    const { message } = error instanceof Error ? error : errorData(error);
    return plainText(this.#o.secrets.text(message)).trim().slice(0, MESSAGE_CHARACTERS_MAX);
  }

  /** Closes the connection permanently. May be repeated. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelIdle();
    await this.#connecting?.catch(() => {});
    await this.#disconnect();
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
  }

  #closeWhenIdle(): void {
    const { clock, idleMs = IDLE_MS } = this.#o;
    this.#cancelIdle();
    this.#cancelIdle = clock.after(idleMs, () => void this.#disconnect());
  }

  #open(): Promise<Connection> {
    if (this.#isClosed) return Promise.reject(this.#error('UNAVAILABLE', 'was closed'));
    if (this.#connection) return Promise.resolve(this.#connection);
    if (this.#connecting) return this.#connecting;
    const waitMs = this.#nextStartAt - this.#o.clock.wallMs();
    if (waitMs > 0) {
      const why = this.#restarts.isOpen ? 'failed too often' : 'waits for its next start';
      const message = `${why}: ${this.#lastError?.message}`;
      return Promise.reject(this.#error('UNAVAILABLE', message, { retryAfterMs: waitMs }));
    }
    const connecting = this.#connect().finally(() => {
      if (this.#connecting === connecting) this.#connecting = undefined;
    });
    this.#connecting = connecting;
    return connecting;
  }

  async #connect(): Promise<Connection> {
    try {
      const connection = await connect({
        ...this.#o,
        onDeclined: (question) => this.#declined.forEach((one) => one.push(question)),
      });
      this.#connection = connection;
      if (this.config.url !== undefined) this.#restarts = NO_FAILURES;
      this.#watch(connection);
      return connection;
    } catch (error) {
      const message = this.messageOf(error);
      if (isLoginFailure(error)) {
        // The next use is an attempt at once: it finds a login that was made meanwhile.
        this.#lastError = { at: this.#o.clock.wallMs(), message };
        throw error;
      }
      this.#onFailure(`cannot be reached: ${message}`);
      throw this.#error('UNAVAILABLE', `cannot be reached: ${message}`);
    }
  }

  #watch(connection: Connection): void {
    const cancel = this.#o.clock.after(STABLE_MS, () => {
      this.#restarts = afterStableRun(this.#restarts);
    });
    void connection.ended.then((why) => {
      cancel();
      if (this.#connection === connection) this.#connection = undefined;
      if (why !== undefined) this.#onFailure(why);
    });
  }

  #onFailure(why: string): void {
    const { clock, onFailure, config } = this.#o;
    const now = clock.wallMs();
    this.#lastError = { at: now, message: why };
    const { restarts, waitMs } = afterFailure(this.#restarts, now);
    const isHttp = config.url !== undefined;
    this.#restarts = isHttp ? { ...restarts, isOpen: false } : restarts;
    this.#nextStartAt = now + (isHttp ? Math.min(waitMs, HTTP_WAIT_MAX_MS) : waitMs);
    onFailure(why);
  }

  #error(
    code: 'UNAVAILABLE' | 'RATE_LIMIT_EXCEEDED',
    why: string,
    options: { readonly retryAfterMs?: number } = {},
  ): TroupeError {
    return new TroupeError(code, `the MCP server ${this.name} ${why}`, options);
  }
}
