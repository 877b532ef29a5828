/**
 * A WebSocket server in a separate process, and its cost there: a gateway on a real embedded
 * system, or a bare `ws` server with the least possible work as its physical limit.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { createModelCatalog } from '../../agent/models/catalog.ts';
import { auditMachine } from '../../actors/audit/machine.ts';
import { startGateway } from '../../channels/index.ts';
import { type RunEvent, runEventsTopic } from '../../protocols/session.ts';
import { defineActor, openEmbedded, systemClock } from '../../runtime/index.ts';
import { collectGarbage, memoryOf } from './computer.ts';
import { fillSessions } from './session-rows.ts';
import { openSystem } from './system.ts';

export const GATEWAY_TOKEN = 'bench-token-of-no-secret';
const SESSION = 'agent:main:bench';
/** The shortest time for which the gateway joins deltas; the bare server uses it too. */
const JOINED_MS = 50;

/** `atMs`: monotonic. */
type Facts = { readonly rssKb: number; readonly cpuMs: number; readonly atMs: number };
type Host = {
  readonly port: number;
  /** sends this number of deltas to every client, one each 20 ms */
  deltas(count: number): Promise<void>;
};
type Order = { readonly do: 'facts' | 'cpu' } | { readonly do: 'deltas'; readonly count: number };

/** The role of the process: `kind` is `gateway` or `bare`; a gateway's store has `sessions`. */
export async function serveGateway(kind: string, folder: string, sessions: number): Promise<void> {
  const host = kind === 'bare' ? await bareHost() : await gatewayHost(folder, sessions);
  process.on('message', (order: Order) => {
    void (async () => {
      if (order.do === 'deltas') await host.deltas(order.count);
      process.send?.(await factsNow(order.do === 'facts'));
    })();
  });
  process.on('disconnect', () => process.exit());
  process.send?.({ port: host.port });
}

async function factsNow(isExact: boolean): Promise<Facts> {
  const { user, system } = process.cpuUsage();
  const atMs = performance.now();
  if (isExact) await collectGarbage();
  return { rssKb: (memoryOf('self', 'VmRSS') * 1e6) / 1_024, cpuMs: (user + system) / 1_000, atMs };
}

async function gatewayHost(folder: string, sessions: number): Promise<Host> {
  const { store } = await openEmbedded({ path: join(folder, 'store') });
  await fillSessions(store.state, sessions);
  await store.close();
  // Connections are logged, as in a real gateway.
  const audit = defineActor({ type: 'audit', version: 1, machine: auditMachine });
  const system = await openSystem(folder, {}, [audit]);
  const silent = () => {};
  const gateway = await startGateway({
    system,
    port: 0,
    host: '127.0.0.1',
    auth: { mode: 'token', token: GATEWAY_TOKEN },
    tenant: 'default',
    defaultAgentId: 'main',
    models: createModelCatalog({ providers: {} }, { clock: systemClock }),
    mainKey: 'main',
    agents: [{ id: 'main', model: 'offline/echo' }],
    version: '0.0.0',
    log: { debug: silent, info: silent, warn: silent, error: silent },
    clock: systemClock,
  });
  const topic = runEventsTopic('default', SESSION);
  const about = { type: 'run', runId: `run-${process.pid}`, sessionKey: SESSION } as const;
  const publish = (event: object) => system.bus.publish(topic, { ...about, ...event });
  const deltas = async (count: number) => {
    publish({ stream: 'lifecycle', phase: 'start', startedAt: Date.now() });
    let offset = 0;
    await paced(count, () => {
      const delta = wordNow();
      publish({ stream: 'assistant', delta, offset, call: 1 } satisfies Partial<RunEvent>);
      offset += delta.length;
    });
  };
  return { port: gateway.port, deltas };
}

/** Echoes each message, and broadcasts as many bytes as joined deltas have. */
async function bareHost(): Promise<Host> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    socket.on('message', (data) => socket.send(data, { binary: false }));
  });
  const deltas = async (count: number) => {
    let [text, waiting, from] = ['', '', performance.now()];
    await paced(count, (isLast) => {
      waiting += wordNow();
      if (!isLast && performance.now() - from < JOINED_MS) return;
      const deltaText = waiting;
      text += deltaText;
      [waiting, from] = ['', performance.now()];
      const event = { type: 'event', event: 'chat', payload: { deltaText, message: text } };
      const frame = Buffer.from(JSON.stringify(event));
      for (const socket of server.clients) {
        if (socket.readyState === WebSocket.OPEN) socket.send(frame, { binary: false });
      }
    });
  };
  return { port: (server.address() as AddressInfo).port, deltas };
}

/** The model's text: the time at which it is sent. */
const wordNow = () => `word@${Date.now()}`;

const paced = (count: number, each: (isLast: boolean) => void): Promise<void> =>
  new Promise((resolve) => {
    let left = count;
    const timer = setInterval(() => {
      each(--left === 0);
      if (left > 0) return;
      clearInterval(timer);
      setTimeout(resolve, 1_000);
    }, 20);
  });

/** The handle of the host in its parent. */
export class GatewayHost {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async start(
    kind: 'gateway' | 'bare',
    folder: string,
    sessions: number,
  ): Promise<GatewayHost> {
    const [bundle = ''] = process.argv.slice(1);
    const folders = process.env['BENCH_PROFILES'];
    const profile = folders === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folders}`];
    const child = spawn(
      process.execPath,
      ['--expose-gc', ...profile, bundle, 'gateway-host', kind, folder, String(sessions)],
      { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
    );
    const [first] = (await once(child, 'message')) as [{ port: number }];
    return new GatewayHost(child, first.port);
  }

  /** Memory after a garbage collection; processor time before it. */
  facts(): Promise<Facts> {
    return this.#order({ do: 'facts' });
  }

  /** Memory without a garbage collection. */
  now(): Promise<Facts> {
    return this.#order({ do: 'cpu' });
  }

  /** Resolves a second after the last delta was sent. */
  deltas(count: number): Promise<Facts> {
    return this.#order({ do: 'deltas', count });
  }

  async #order(order: Order): Promise<Facts> {
    const answer = once(this.#child, 'message');
    this.#child.send(order);
    return ((await answer) as [Facts])[0];
  }

  async stop(): Promise<void> {
    const gone = once(this.#child, 'exit');
    this.#child.disconnect();
    await gone;
  }
}
