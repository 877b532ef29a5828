/**
 * Two gateways behind one address: a TCP proxy that hands each new connection to the first of them
 * that answers, as a load balancer in front of a cluster does.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { GatewayClient } from '../../cli/client/gateway-client.ts';
import type { GatewayEventPayload } from '../../protocols/gateway/index.ts';

export type Address = {
  /** of a WebSocket */
  readonly url: string;
  /** ports in the order in which they are tried; may be changed at any time */
  readonly ports: number[];
  /** ends every connection, as a network does: without a word */
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

/** The text of a run as a client builds it from what it is told: appended, or begun again. */
export class HeardText {
  text = '';
  finals = 0;
  readonly runId: string;

  constructor(client: GatewayClient, runId: string) {
    this.runId = runId;
    client.on('chat', (chat) => this.#hear(chat));
  }

  #hear(chat: GatewayEventPayload<'chat'>): void {
    if (chat.runId !== this.runId) return;
    if (chat.state === 'final') this.finals++;
    if (chat.state !== 'delta') return;
    this.text = chat.replace === true ? chat.deltaText : this.text + chat.deltaText;
  }
}
