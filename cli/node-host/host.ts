/**
 * NodeHost: one machine as a node of a gateway. It proves its identity, waits for the pairing,
 * executes commands, and reconnects after every loss.
 *
 * Invariants:
 *  1. A command runs at most once per key (answers.ts), and every delivery of it is answered.
 *  2. A command that needs an approval runs only after the approval.
 *  3. An answer that could not be sent is sent when the gateway delivers the command again.
 */
import { arch, hostname, platform } from 'node:os';
import { deviceProof } from '../../client/device-proof.ts';
import { openSocket } from '../../client/operator-client.ts';
import { defined } from '../../protocols/defined.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { ConnectParams, NodeInvokeRequestEvent } from '../../protocols/gateway/index.ts';
import { GatewayClient } from '../../client/gateway-client.ts';
import { version } from '../version.ts';
import type { Answer, Answers } from './answers.ts';
import type { CommandContext, HostCommand } from './command.ts';
import type { Identity } from '../client/device-identity.ts';

export type NodeHostOptions = {
  /** `ws://host:port` */
  readonly url: string;
  readonly token?: string;
  readonly password?: string;
  readonly name?: string;
  readonly identity: Identity;
  readonly answers: Answers;
  readonly commands: readonly HostCommand[];
  readonly caps: readonly string[];
  readonly permissions: Readonly<Record<string, 'granted' | 'denied' | 'undetermined'>>;
  /** how long an approval may take; default 120,000 */
  readonly approvalMs?: number;
  /** prints a line for the operator */
  readonly say: (line: string) => void;
};

/** Between two attempts while the pairing is pending. */
const PAIRING_RETRY_MS = 3_000;
const INVOKE_MS_DEFAULT = 30_000;
const APPROVAL_MS_DEFAULT = 120_000;
/** The shortest time that a gateway accepts. */
const APPROVAL_MS_MIN = 1_000;

export class NodeHost {
  readonly #o: NodeHostOptions;
  readonly #commands: ReadonlyMap<string, HostCommand>;
  /** running commands, by the id of their invocation */
  readonly #running = new Map<string, AbortController>();
  #client: GatewayClient | undefined;
  #said = '';

  constructor(options: NodeHostOptions) {
    this.#o = options;
    this.#commands = new Map(options.commands.map((command) => [command.name, command]));
  }

  /** Serves until `signal` is aborted. @throws TroupeError when the gateway refuses permanently */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#serve(signal);
      } catch (error) {
        if (signal.aborted) break;
        await this.#refused(TroupeError.from(errorData(error)), signal);
      }
    }
    for (const running of this.#running.values()) running.abort();
  }

  /** Runs one client, from its first attempt until it is refused or the signal is aborted. */
  async #serve(signal: AbortSignal): Promise<void> {
    const { url, identity } = this.#o;
    const client = new GatewayClient({
      url,
      persistent: true,
      openSocket,
      introduce: async (challenge) => {
        const params = this.#hello();
        return { ...params, device: await deviceProof(identity, params, challenge) };
      },
    });
    this.#client = client;
    const stop = () => client.close();
    signal.addEventListener('abort', stop, { once: true });
    client.on('node.invoke.request', (event) => void this.#invoked(event));
    client.on('node.invoke.cancel', ({ invokeId }) => this.#running.get(invokeId)?.abort());
    client.watch((state) => {
      if (state.kind === 'waiting' && state.lost)
        this.#say(`connection to ${url} lost: reconnecting`);
      if (state.kind === 'open') {
        identity.keepToken(url, state.hello.auth.deviceToken ?? identity.tokenFor(url));
        this.#say(`connected to ${url} as ${identity.deviceId}`);
      }
    });
    try {
      await new Promise<void>((_, reject) => {
        const end = () => {
          const { state } = client;
          if (state.kind !== 'closed') return;
          reject(state.why ?? new TroupeError('CANCELLED', 'the node was stopped'));
        };
        client.watch(end);
        client.connect();
      });
    } finally {
      signal.removeEventListener('abort', stop);
      client.close();
    }
  }

  /** @throws TroupeError when a retry cannot succeed */
  async #refused(error: TroupeError, signal: AbortSignal): Promise<void> {
    const { url, identity } = this.#o;
    const { code, requestId } = error.details ?? {};
    if (code === 'PAIRING_REQUIRED') {
      const how = typeof requestId === 'string' ? ` ${requestId}` : '';
      this.#say(`waiting for approval: troupe devices approve${how}`);
    } else if (code === 'AUTH_DEVICE_TOKEN_MISMATCH' && identity.tokenFor(url) !== undefined) {
      identity.keepToken(url, undefined);
    } else if (error.code !== 'UNAVAILABLE' && error.code !== 'RATE_LIMIT_EXCEEDED') {
      throw error;
    } else this.#say(`${error.message}: retrying`);
    await pause(Math.max(PAIRING_RETRY_MS, error.retryAfterMs ?? 0), signal);
  }

  #hello(): ConnectParams & { readonly troupe: object } {
    const { url, token, password, identity, commands, caps, permissions, name } = this.#o;
    const deviceToken = token === undefined && password === undefined && identity.tokenFor(url);
    const decided = Object.entries(permissions).filter(([, word]) => word !== 'undetermined');
    return {
      minProtocol: 4,
      maxProtocol: 4,
      client: {
        id: 'node-host',
        version,
        platform: platform(),
        deviceFamily: `${platform()}-${arch()}`,
        mode: 'node',
        displayName: name ?? hostname(),
      },
      role: 'node',
      scopes: [],
      caps: [...caps],
      commands: commands.map((command) => command.name),
      permissions: Object.fromEntries(decided.map(([cap, word]) => [cap, word === 'granted'])),
      ...(process.env['PATH'] ? { pathEnv: process.env['PATH'] } : {}),
      auth: {
        ...defined({ token, password }),
        ...(deviceToken ? { deviceToken } : {}),
      },
      troupe: {
        commands: Object.fromEntries(
          commands.map(({ name: of, params, description }) => [
            of,
            { params: JSON.parse(JSON.stringify(params)) as object, description },
          ]),
        ),
        permissions,
        replays: true,
      },
    };
  }

  /** Never rejects. */
  async #invoked(event: NodeInvokeRequestEvent): Promise<void> {
    const known = this.#begin(event.id);
    if (known === 'running') return;
    if (known !== 'begin') return this.#answer(event.id, known);
    const answer = await this.#outcome(event);
    try {
      this.#o.answers.end(event.id, answer);
    } catch (error) {
      this.#say(`the answer to ${event.id} was not stored: ${errorData(error).message}`);
    }
    await this.#answer(event.id, answer);
  }

  /** A command that cannot be recorded is not started. */
  #begin(id: string): ReturnType<Answers['begin']> {
    try {
      return this.#o.answers.begin(id);
    } catch (error) {
      this.#say(`the command ${id} was not recorded: ${errorData(error).message}`);
      const message = 'the node cannot write to its disk: the command was not executed';
      return { ok: false, error: { code: 'UNAVAILABLE', message } };
    }
  }

  async #outcome({ id, command, paramsJSON, ...event }: NodeInvokeRequestEvent): Promise<Answer> {
    const stop = new AbortController();
    const timeoutMs = event.timeoutMs ?? INVOKE_MS_DEFAULT;
    this.#running.set(id, stop);
    try {
      const offered = this.#commands.get(command);
      if (!offered) throw new TroupeError('NOT_FOUND', `this node has no command ${command}`);
      const result = await offered.run(JSON.parse(paramsJSON ?? '{}'), {
        id,
        signal: stop.signal,
        timeoutMs,
        ask: (question) => this.#ask({ id, timeoutMs }, question, stop.signal),
      });
      return { ok: true, payloadJSON: JSON.stringify(result ?? null) };
    } catch (error) {
      const { code, message } = errorData(error);
      return { ok: false, error: { code, message } };
    } finally {
      this.#running.delete(id);
    }
  }

  /**
   * Sent again after a connection loss with the same id: an operator decides once. The question
   * ends before its caller gives up, who so learns that there was no decision.
   */
  async #ask(
    { id, timeoutMs }: { readonly id: string; readonly timeoutMs: number },
    { command, detail }: Parameters<CommandContext['ask']>[0],
    signal: AbortSignal,
  ): Promise<void> {
    const longest = Math.min(this.#o.approvalMs ?? APPROVAL_MS_DEFAULT, timeoutMs * 0.9);
    const forMs = Math.max(APPROVAL_MS_MIN, Math.floor(longest));
    const until = performance.now() + forMs;
    const params = { id, command: command.slice(0, 8_192), detail: detail.slice(0, 4_096) };
    for (;;) {
      if (signal.aborted)
        throw new TroupeError('CANCELLED', 'the caller no longer waits for the command');
      try {
        const client = this.#client;
        await client?.ready(signal);
        const answer = await client!.request(
          'node.approval.ask',
          { ...params, timeoutMs: forMs },
          { timeoutMs: 0, signal },
        );
        if (answer.decision === 'allow-once' || answer.decision === 'allow-always') return;
        const why = answer.decision === null ? 'the approval expired' : 'an operator denied it';
        throw new TroupeError('FORBIDDEN', `${why}: the command did not run`);
      } catch (error) {
        const { code } = errorData(error);
        if (code !== 'UNAVAILABLE') throw error;
        if (performance.now() > until)
          throw new TroupeError(
            'FORBIDDEN',
            'the approval could not be requested in time: the command did not run',
          );
        await pause(500, signal);
      }
    }
  }

  /** An answer that cannot be sent now is sent when the gateway delivers the command again. */
  async #answer(id: string, answer: Answer): Promise<void> {
    const { identity } = this.#o;
    try {
      await this.#client?.request('node.invoke.result', {
        id,
        nodeId: identity.deviceId,
        ...answer,
      });
    } catch (error) {
      this.#say(`the gateway did not accept the answer to ${id}: ${errorData(error).message}`);
    }
  }

  /** Does not print the same line twice in a row. */
  #say(line: string): void {
    if (line === this.#said) return;
    this.#said = line;
    this.#o.say(line);
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
