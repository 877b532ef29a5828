/**
 * NodeHost: this browser as a node. Connects with its identity, says what it can do and may,
 * carries out commands, and answers one that is told twice from its book.
 *
 * Invariants:
 *  1. A command is carried out at most once, whatever becomes of the connection or the page.
 *  2. What the person switched off, or the browser denies, is told as denied, and refused here too.
 *  3. Permissions are told anew, by a new connection, whenever they change.
 */
import { type Challenge, type ConnectionState, GatewayClient } from '../gateway-client.ts';
import type { Answer, Book } from './book.ts';
import { type Canvas, type Capability, CommandError, type Doing, failureOf } from './capability.ts';
import type { CapabilityName, Permission } from './capability.ts';
import { type Identity, proofOf } from '../identity.ts';
import { deviceName, deviceToken, keepDeviceToken, switchedOff } from './switches.ts';

export type Question = { readonly id: string; readonly command: string };
export type LogEntry = {
  readonly id: string;
  readonly at: number;
  readonly command: string;
  readonly params: string;
  /** missing while it is carried out */
  readonly outcome?: string;
  readonly failed?: boolean;
};
export type NodeView = {
  readonly connection: ConnectionState;
  readonly permissions: Readonly<Partial<Record<CapabilityName, Permission>>>;
  readonly canvas: (Canvas & { readonly at: number }) | undefined;
  readonly questions: readonly Question[];
  /** the newest first */
  readonly log: readonly LogEntry[];
};

export type NodeHostOptions = {
  readonly url: string;
  readonly token: string;
  readonly locale: string;
  readonly identity: Identity;
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

/** An id of the published list whose mode is `node`; `platform` says that it is a browser. */
const CLIENT = {
  id: 'node-host',
  version: '1.0.0',
  platform: 'web',
  deviceFamily: 'Browser',
  mode: 'node',
};
/** While a person has to let it in, it asks so often whether somebody did. */
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
    this.#client = new GatewayClient({
      ...options,
      introduce: (challenge) => this.#introduce(challenge),
      onState: (connection) => this.#connection(connection),
      onEvent: (event, payload) => this.#event(event, payload),
      onGap: () => {},
    });
  }

  async start(): Promise<void> {
    await this.#readPermissions();
    this.#client.start();
  }

  stop(): void {
    clearTimeout(this.#again);
    this.#client.stop();
  }

  /** The person answers a question. */
  answer(id: string, yes: boolean): void {
    this.#answers.get(id)?.(yes);
  }

  /** A switch, or the browser's permission, may be different: tells it when it is. */
  async look(): Promise<void> {
    const before = JSON.stringify(this.#view.permissions);
    await this.#readPermissions();
    if (JSON.stringify(this.#view.permissions) !== before) this.#client.renew();
  }

  /** The name is told at the next hello. */
  renamed(): void {
    this.#client.renew();
  }

  async #introduce(challenge: Challenge): Promise<object> {
    const { identity, capabilities, token: secret } = this.#options;
    const own = secret === '' ? deviceToken() : undefined;
    const said = { client: CLIENT, role: 'node', scopes: [] };
    const device = await proofOf(identity, said, own ?? secret, challenge);
    const { permissions } = this.#view;
    const told = Object.entries(permissions).filter(([, state]) => state !== 'undetermined');
    return {
      ...said,
      client: { ...CLIENT, displayName: deviceName() },
      caps: capabilities.map(({ name }) => name),
      commands: capabilities.map(({ command }) => command),
      permissions: Object.fromEntries(told.map(([name, state]) => [name, state === 'granted'])),
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
      device,
      ...(own === undefined ? {} : { auth: { deviceToken: own } }),
    };
  }

  #connection(connection: ConnectionState): void {
    clearTimeout(this.#again);
    if (connection.kind === 'online') {
      const { deviceToken: given } = connection.hello.auth;
      if (given !== undefined) keepDeviceToken(given);
    }
    if (connection.kind === 'refused' && connection.code === 'PAIRING_REQUIRED')
      this.#again = setTimeout(() => this.#client.start(), ASK_AGAIN_MS);
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
    // Told twice while it is carried out: its answer comes.
    if (this.#running.has(id)) return;
    const abort = new AbortController();
    this.#running.set(id, abort);
    try {
      await this.#send(id, await this.#answerTo(invocation, abort));
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
    await book.finish(id, answer);
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
      // What the browser was asked may have been answered permanently.
      void this.look();
    }
  }

  /** In vain when the connection broke: the gateway asks again, and the book knows. */
  async #send(id: string, answer: Answer): Promise<void> {
    const { deviceId: nodeId } = this.#options.identity;
    await this.#client.request('node.invoke.result', { id, nodeId, ...answer }).catch(() => {});
  }

  #ask(question: Question, signal: AbortSignal): Promise<void> {
    const { id } = question;
    const asked = new Promise<boolean>((resolve) => {
      this.#answers.set(id, resolve);
      signal.addEventListener('abort', () => resolve(false));
      this.#show({ questions: [...this.#view.questions, question] });
    });
    return asked.then((yes) => {
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
