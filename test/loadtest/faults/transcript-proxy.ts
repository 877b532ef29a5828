/** A WebSocket proxy before a gateway that changes the lines in answers to `chat.history`. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type RawData, WebSocket, WebSocketServer } from 'ws';

type Lines = readonly unknown[];
type Frame = { readonly payload?: { readonly messages?: Lines } };

export type TranscriptProxy = { readonly url: string; readonly close: () => Promise<void> };

/** @param change receives the lines of a page, and returns those that clients see */
export async function transcriptProxy(
  gateway: string,
  change: (lines: Lines) => Lines,
): Promise<TranscriptProxy> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  server.on('connection', (client) => {
    const upstream = new WebSocket(gateway);
    const waiting: RawData[] = [];
    client.on('message', (data) => {
      if (upstream.readyState === WebSocket.OPEN) upstream.send(data, { binary: false });
      else waiting.push(data);
    });
    upstream.on('open', () => {
      for (const data of waiting.splice(0)) upstream.send(data, { binary: false });
    });
    upstream.on('message', (data: Buffer) => client.send(changed(data.toString(), change)));
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.on('error', () => {}).on('close', () => other.close());
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}`,
    close: async () => {
      for (const client of server.clients) client.terminate();
      server.close();
      await once(server, 'close');
    },
  };
}

function changed(text: string, change: (lines: Lines) => Lines): string {
  const frame = JSON.parse(text) as Frame;
  const messages = frame.payload?.messages;
  if (!Array.isArray(messages)) return text;
  return JSON.stringify({ ...frame, payload: { ...frame.payload, messages: change(messages) } });
}
