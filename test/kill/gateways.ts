/**
 * Two gateways behind one address: a TCP proxy that forwards each new connection to the first one
 * that accepts it, like a load balancer.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { GatewayClient } from '../../client/gateway-client.ts';
import type { GatewayEventPayload } from '../../protocols/gateway/index.ts';

export type Address = {
  /** the WebSocket address */
  readonly url: string;
  /** ports in the order of connection attempts; may be changed at any time */
  readonly ports: number[];
  /** destroys every connection without a close frame */
  cut(): void;
  close(): void;
};

export async function oneAddress(ports: number[]): Promise<Address> {
  const open = new Set<Socket>();
  const server = createServer((client) => {
    open.add(client);
    client.on('close', () => open.delete(client));
    client.on('error', () => {});
    void joinFirst(client, ports);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  const close = () => {
    server.close();
    cut();
  };
  return { url: `ws://127.0.0.1:${port}`, ports, cut, close };
}

async function joinFirst(client: Socket, ports: readonly number[]): Promise<void> {
  for (const port of ports) {
    const gateway = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      gateway.once('connect', () => resolve(true));
      gateway.once('error', () => resolve(false));
    });
    if (!isOpen) continue;
    gateway.on('error', () => {});
    gateway.on('close', () => client.destroy());
    client.on('close', () => gateway.destroy());
    client.pipe(gateway).pipe(client);
    return;
  }
  client.destroy();
}

/** The text of a run that a client builds from `chat` events, which append to it or replace it. */
export class ReceivedText {
  text = '';
  finals = 0;
  readonly runId: string;

  constructor(client: GatewayClient, runId: string) {
    this.runId = runId;
    client.on('chat', (chat) => this.#receive(chat));
  }

  #receive(chat: GatewayEventPayload<'chat'>): void {
    if (chat.runId !== this.runId) return;
    if (chat.state === 'final') this.finals++;
    if (chat.state !== 'delta') return;
    this.text = chat.replace === true ? chat.deltaText : this.text + chat.deltaText;
  }
}
