/**
 * NodeHost: this browser as a node. It connects with its identity, sends its capabilities and
 * permissions, executes commands, and answers a redelivered command from its book.
 *
 * Invariants:
 *  1. A command is executed at most once, also if the connection or the page is lost, or the page
 *     is open in several tabs: they are one device with one book. The tab that has a command holds
 *     a lock, which the browser releases when the tab is closed.
 *  2. A capability that the user switched off, or that the browser denies, is reported as denied
 *     and refused here as well.
 *  3. Whenever permissions change, they are sent again with a new connection.
 */
import { type DeviceKey, deviceProof } from '../../client/device-proof.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';
import type { ConnectChallenge, ConnectParams } from '../../protocols/gateway/index.ts';
import { type ConnectionState, gatewayClient, sharedParams } from '../connection/gateway.ts';
import type { Answer, Book } from './book.ts';
import { type Canvas, type Capability, CommandError, type Doing, failureOf } from './capability.ts';
import type { CapabilityName, Permission } from './capability.ts';
import { deviceName, deviceToken, keepDeviceToken, switchedOff } from './switches.ts';

export type Question = { readonly id: string; readonly command: string };
export type LogEntry = {
  readonly id: string;
  readonly at: number;
  readonly command: string;
  readonly params: string;
  /** missing while the command runs */
  readonly outcome?: string;
  readonly failed?: boolean;
};
export type NodeView = {
  readonly connection: ConnectionState;
  readonly permissions: Readonly<Partial<Record<CapabilityName, Permission>>>;
  readonly canvas: (Canvas & { readonly at: number }) | undefined;
  readonly questions: readonly Question[];
  /** newest first */
  readonly log: readonly LogEntry[];
};

export type NodeHostOptions = {
  readonly url: string;
  readonly token: string;
  readonly locale: string;
  readonly identity: DeviceKey;
  readonly book: Book;
  readonly capabilities: readonly Capability[];
  onChange(view: NodeView): void;
};

/** Payload of `node.invoke.request`. */
type Invocation = {
  readonly id: string;
  readonly command: string;
  readonly paramsJSON?: string;
  readonly timeoutMs?: number;
};

/** A published client id with the mode `node`; `platform` says that it is a browser. */
const CLIENT = {
  id: 'node-host',
  version: '1.0.0',
  platform: 'web',
  deviceFamily: 'Browser',
  mode: 'node',
} as const;
/** While the pairing is pending, it retries at this interval. */
const ASK_AGAIN_MS = 3_000;
const LOG_MAX = 50;
const PARAMS_SHOWN = 200;
const TIMEOUT_MS_DEFAULT = 30_000;

export const firstNodeView: NodeView = {
  connection: { kind: 'connecting' },
  permissions: {},
  canvas: undefined,
  questions: [],
  log: [],
};

export class NodeHost {
  readonly #options: NodeHostOptions;
  readonly #client: GatewayClient;
  readonly #running = new Map<string, AbortController>();
  readonly #answers = new Map<string, (yes: boolean) => void>();
  #view: NodeView = firstNodeView;
  #again: ReturnType<typeof setTimeout> | undefined;

  constructor(options: NodeHostOptions) {
    this.#options = options;
    this.#client = gatewayClient(
      { url: options.url, introduce: (challenge) => this.#introduce(challenge) },
      (connection) => this.#connection(connection),
    );
    this.#client.onEvent(({ event, payload }) => this.#event(event, payload));
  }

  async start(): Promise<void> {
    await this.#readPermissions();
    this.#client.connect();
  }

  stop(): void {
    clearTimeout(this.#again);
    this.#client.close();
  }

  /** The user answers a question. */
  answer(id: string, yes: boolean): void {
    this.#answers.get(id)?.(yes);
  }

  /** A switch or a permission of the browser may have changed: if so, sends it. */
  async look(): Promise<void> {
    const before = JSON.stringify(this.#view.permissions);
    await this.#readPermissions();
    if (JSON.stringify(this.#view.permissions) !== before) this.#client.reconnect();
  }

  /** The name is sent at the next handshake. */
  renamed(): void {
    this.#client.reconnect();
  }

  async #introduce(challenge: ConnectChallenge): Promise<ConnectParams> {
    const { identity, capabilities, token, locale } = this.#options;
    const own = token === '' ? deviceToken() : undefined;
    const { permissions } = this.#view;
    const decided = Object.entries(permissions).filter(([, state]) => state !== 'undetermined');
    const connect = {
      ...sharedParams(locale, token),
      ...(own === undefined ? {} : { auth: { deviceToken: own } }),
      client: { ...CLIENT, displayName: deviceName() },
      role: 'node',
      scopes: [],
      caps: capabilities.map(({ name }) => name),
      commands: capabilities.map(({ command }) => command),
      permissions: Object.fromEntries(decided.map(([name, state]) => [name, state === 'granted'])),
      troupe: {
        commands: Object.fromEntries(
          capabilities.map(({ command, params, description }) => [
            command,
            { params, description },
          ]),
        ),
        permissions,
        replays: true,
      },
    };
    return { ...connect, device: await deviceProof(identity, connect, challenge) };
  }

  #connection(connection: ConnectionState): void {
    clearTimeout(this.#again);
    if (connection.kind === 'online') {
      const { deviceToken: given } = connection.hello.auth;
      if (given !== undefined) keepDeviceToken(given);
    }
    if (connection.kind === 'refused' && connection.code === 'PAIRING_REQUIRED')
      this.#again = setTimeout(() => this.#client.connect(), ASK_AGAIN_MS);
    this.#show({ connection });
  }

  #event(event: string, payload: unknown): void {
    if (event === 'node.invoke.request') void this.#invoke(payload as Invocation);
    else if (event === 'node.invoke.cancel') {
      const { invokeId } = payload as { invokeId: string };
      this.#running
        .get(invokeId)
        ?.abort(new DOMException('the caller no longer waits', 'AbortError'));
    }
  }

  async #invoke(invocation: Invocation): Promise<void> {
    const { id } = invocation;
    // Delivered again while it runs: its answer will be sent.
    if (this.#running.has(id)) return;
    const abort = new AbortController();
    this.#running.set(id, abort);
    try {
      const answered = () => this.#answerTo(invocation, abort);
      const answer = await navigator.locks
        .request(`troupe.node.${id}`, answered)
        // The book cannot be read or written: the command was not begun.
        .catch((thrown: unknown): Answer => ({ ok: false, error: failureOf(thrown) }));
      await this.#send(id, answer);
    } finally {
      this.#running.delete(id);
    }
  }

  async #answerTo(invocation: Invocation, abort: AbortController): Promise<Answer> {
    const { id, command, paramsJSON = '{}', timeoutMs } = invocation;
    const { book } = this.#options;
    const known = await book.find(id);
    if (known === 'begun') return cutOff;
    if (known !== undefined) return known;
    await book.begin(id);
    const params = paramsJSON.slice(0, PARAMS_SHOWN);
    this.#note({ id, at: Date.now(), command, params });
    const late = new DOMException('its time is over', 'TimeoutError');
    const timer = setTimeout(() => abort.abort(late), timeoutMs || TIMEOUT_MS_DEFAULT);
    const answer = await this.#carryOut(invocation, abort.signal).finally(() =>
      clearTimeout(timer),
    );
    // A full disk takes the repetition of an answer, and not the answer.
    await book.finish(id, answer).catch(() => {});
    const outcome = answer.ok ? '' : answer.error.message;
    this.#note({ id, at: Date.now(), command, params, outcome, failed: !answer.ok });
    return answer;
  }

  async #carryOut(invocation: Invocation, signal: AbortSignal): Promise<Answer> {
    const { id, command, paramsJSON = '{}' } = invocation;
    const capability = this.#options.capabilities.find((each) => each.command === command);
    try {
      if (capability === undefined)
        throw new CommandError('NOT_FOUND', `this page has no command ${command}`);
      if ((await permissionOf(capability)) === 'denied')
        throw new CommandError('FORBIDDEN', `${capability.name} is switched off on this device`);
      const doing: Doing = {
        signal,
        ask: () => this.#ask({ id, command }, signal),
        show: (canvas) => this.#show({ canvas: { ...canvas, at: Date.now() } }),
      };
      const params = (JSON.parse(paramsJSON) ?? {}) as never;
      const payload = await orAborted(capability.run(params, doing), signal);
      return { ok: true, payloadJSON: JSON.stringify(payload) };
    } catch (thrown) {
      return { ok: false, error: failureOf(thrown) };
    } finally {
      // The browser may have stored the user's answer permanently.
      void this.look();
    }
  }

  /**
   * Fails if the connection broke: the gateway delivers the command again, and the book has the
   * answer.
   */
  async #send(id: string, answer: Answer): Promise<void> {
    const { deviceId: nodeId } = this.#options.identity;
    await this.#client.request('node.invoke.result', { id, nodeId, ...answer }).catch(() => {});
  }

  #ask(question: Question, signal: AbortSignal): Promise<void> {
    const { id } = question;
    const decision = new Promise<boolean>((resolve) => {
      this.#answers.set(id, resolve);
      signal.addEventListener('abort', () => resolve(false));
      this.#show({ questions: [...this.#view.questions, question] });
    });
    return decision.then((yes) => {
      this.#answers.delete(id);
      this.#show({ questions: this.#view.questions.filter((each) => each.id !== id) });
      signal.throwIfAborted();
      if (!yes) throw new CommandError('FORBIDDEN', 'the person at the device said no');
    });
  }

  async #readPermissions(): Promise<void> {
    const { capabilities } = this.#options;
    const states = await Promise.all(
      capabilities.map(async (each) => [each.name, await permissionOf(each)] as const),
    );
    this.#show({ permissions: Object.fromEntries(states) });
  }

  #note(entry: LogEntry): void {
    const others = this.#view.log.filter(({ id }) => id !== entry.id);
    this.#show({ log: [entry, ...others].slice(0, LOG_MAX) });
  }

  #show(change: Partial<NodeView>): void {
    this.#view = { ...this.#view, ...change };
    this.#options.onChange(this.#view);
  }
}

const cutOff: Answer = {
  ok: false,
  error: {
    code: 'UNAVAILABLE',
    message: 'the page was closed while it carried this out: whether it was done is not known',
  },
};

const permissionOf = async (capability: Capability): Promise<Permission> =>
  switchedOff().has(capability.name) ? 'denied' : capability.permission();

const orAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  Promise.race([
    work,
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    }),
  ]);
