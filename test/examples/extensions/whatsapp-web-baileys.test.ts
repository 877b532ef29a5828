/**
 * The example whatsapp-web with the real Baileys, as far as a local server can test it: Baileys
 * accepts only WhatsApp's certificate, so a connection never opens. Install it with `npm install`
 * in examples/extensions/whatsapp-web, or name a folder with `WHATSAPP_WEB_MODULES`.
 */
import { existsSync, symlinkSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { AccountRun } from '../../channels/messengers/account-run.ts';
import { example, openWhatsAppWeb } from './whatsapp-web-plugin.ts';

const modules = process.env['WHATSAPP_WEB_MODULES'] ?? join(example, 'node_modules');
const isInstalled = existsSync(join(modules, 'baileys'));

/** A server that does this with each connection. */
async function serverThat(serve: (line: WebSocket) => void): Promise<string> {
  const server = createServer((_, response) => response.writeHead(403).end());
  const lines = new WebSocketServer({ server }).on('connection', serve);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const line of lines.clients) line.terminate();
    server.close();
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

let count = 1000;
const damaged = Buffer.from([0, 0, 4, 0xff, 0xff, 0xff, 0xff]);

const opened = isInstalled ? await openWhatsAppWeb((to) => symlinkSync(modules, to)) : undefined;

describe.skipIf(!opened)('with Baileys (skipped: it is not installed)', () => {
  const { adapter, row } = opened ?? {};

  it.each<[string, (line: WebSocket) => void]>([
    ['closes at once', (line) => line.close()],
    ['closes after the first frame', (line) => line.on('message', () => line.terminate())],
    ['answers with a damaged frame', (line) => line.on('message', () => line.send(damaged))],
  ])('a server that %s is reported, and the process lives', async (_, serve) => {
    const serverUrl = await serverThat(serve);
    const settings = { config: { phoneNumber: `8490000${count++}`, serverUrl }, secrets: {} };
    const { error, isFinal } = await endOf(new AccountRun(adapter!, settings));
    expect(isFinal).toBe(false);
    expect(error.message).toMatch(/^the connection to WhatsApp ended: ./);
    expect(row!()).toMatchObject({ state: 'running', restarts: 0 });
  });

  async function endOf(run: AccountRun) {
    run.start();
    const end = await run.ended();
    await run.stop();
    return end;
  }
});
