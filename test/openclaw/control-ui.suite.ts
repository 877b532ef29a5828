/**
 * OpenClaw's Control UI, the static files of its package, in Chromium against troupe. A small
 * server serves the files and forwards the WebSocket, like a reverse proxy in front of both. It
 * records the calls of the page and their responses.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../runtime/eventually.ts';
import { chromiumPath, NO_CHROMIUM, openChromium } from '../web/chromium.ts';
import { controlUi, type Installation, installTroupe } from './installation.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.html': 'text/html',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.webmanifest': 'application/json',
};

/** Its files are named relative to the page, whose path is the application's: `/chat/main`. */
const fileOf = (path: string): string => {
  const parts = path.split('/').filter(Boolean);
  const files = parts.map((_, at) => join(controlUi, ...parts.slice(at)));
  const isFile = (file: string) => existsSync(file) && statSync(file).isFile();
  return files.find(isFile) ?? join(controlUi, 'index.html');
};

const serveControlUi = async (gatewayPort: number): Promise<Server> => {
  const server = createServer(({ url = '/' }, response) => {
    const file = fileOf(decodeURIComponent(new URL(url, 'http://page').pathname));
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
    response.end(readFileSync(file));
  });
  server.on('upgrade', ({ headers }, client, head) => {
    const gateway = connect(gatewayPort, '127.0.0.1', () => {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
      gateway.write(`GET / HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      gateway.write(head);
      client.pipe(gateway).pipe(client);
    });
    gateway.on('error', () => client.destroy());
    client.on('error', () => gateway.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
};

/**
 * Methods that the page calls without a look at `features.methods`, although troupe does not have
 * them; docs/openclaw-compatibility.md says why. The page may show the refusal of one.
 */
const MISSING_METHODS: ReadonlySet<string> = new Set([
  'plugins.list',
  'progressCard.get',
  'sessions.companion.state',
  'sessions.observer.visibility',
  'skills.library.list',
  'skills.search',
  'talk.catalog',
  'themes.list',
  'update.status',
]);

let troupe: Installation;
let server: Server;
let browser: Browser;
let page: Page;
const pageErrors: string[] = [];
const unknown = new Set<string>();
const answered = new Set<string>();

/** Records each method that the page calls, by its kind of response. */
const noteCalls = (on: Page): void => {
  on.on('websocket', (socket) => {
    const methods = new Map<string, string>();
    socket.on('framesent', ({ payload }) => {
      const { id, method } = JSON.parse(String(payload));
      methods.set(id, method);
    });
    socket.on('framereceived', ({ payload }) => {
      const { type, id, error } = JSON.parse(String(payload));
      const method = methods.get(id);
      if (type !== 'res' || method === undefined) return;
      if (error?.message?.startsWith('unknown method')) unknown.add(method);
      else answered.add(method);
    });
  });
};

const go = (path: string): Promise<void> =>
  page.evaluate((to) => {
    history.pushState({}, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);

const sees = (what: RegExp): Promise<string> =>
  eventually(async () => {
    const text = await page.locator('body').innerText();
    if (!what.test(text)) throw new Error(`${what} is not seen, but:\n${text.slice(0, 3_000)}`);
    return text;
  }, 60_000);

const says = async (message: string): Promise<void> => {
  const box = page.locator('textarea:visible').first();
  await box.fill(message);
  await box.press('Enter');
};

describe.skipIf(chromiumPath === undefined)(
  `the Control UI${chromiumPath ? '' : NO_CHROMIUM}`,
  () => {
    beforeAll(async () => {
      troupe = await installTroupe('{ gateway: { port: 18789 } }');
      const user = troupe.user('ann');
      await user.good([
        'cron',
        'add',
        '--name',
        'water the plants',
        '--every',
        '1h',
        '--message',
        'water',
        '--agent',
        'main',
      ]);
      server = await serveControlUi(troupe.port);
      browser = await openChromium();
      page = await browser.newPage({ locale: 'en-US', viewport: { width: 1_280, height: 900 } });
      page.setDefaultTimeout(60_000);
      page.on('pageerror', ({ message }) => pageErrors.push(message));
      noteCalls(page);
      const { port } = server.address() as AddressInfo;
      await page.goto(`http://127.0.0.1:${port}/#token=${troupe.token}`);
      await page.locator('textarea:visible').first().waitFor();
    });
    afterAll(async () => {
      await browser?.close();
      server?.closeAllConnections();
      server?.close();
      await troupe?.stop();
    });

    it('shows an answer while it is written, and completely at its end', async () => {
      await says('[[words:60]] [[pace:20]] slowly');
      await sees(/The actor reads/);
      await says('what is 6 * 7?');
      expect(await sees(/answered: 42/)).toMatch(/The actor reads/);
    });

    it('shows the same conversation after it was loaded again', async () => {
      await page.reload();
      expect(await sees(/answered: 42/)).toMatch(/The actor reads/);
    });

    it('continues by itself after kill -9 of the gateway', async () => {
      await troupe.restart();
      await eventually(async () => {
        await says('what is 8 * 8?');
        expect(await sees(/answered: 64/)).toMatch(/answered: 42/);
      }, 100_000);
    });

    it.each([
      ['sessions', 'sessions.list', /main/i],
      ['cron', 'cron.list', /water the plants/],
      ['agents', 'agents.list', /main/],
      ['nodes', 'node.list', /nodes|devices/i],
      ['config', 'config.get', /config|settings/i],
      ['logs', 'logs.tail', /gateway: listening|log/i],
      ['usage', 'sessions.usage', /tokens|usage/i],
      ['skills', 'skills.status', /skills/i],
    ])(
      'shows its page /%s with the data of troupe, and no undocumented error',
      async (path, method, what) => {
        await go(`/${path}`);
        await eventually(() => expect([...answered]).toContain(method), 60_000);
        const text = await sees(what);
        // The page shows the refusal of a missing method when it arrives, which may be later.
        const unexpected = text.replaceAll(
          /unknown method: ([\w.]+)/g,
          (refusal, missing: string) => (MISSING_METHODS.has(missing) ? '' : refusal),
        );
        expect(unexpected).not.toMatch(/unknown method|INVALID_REQUEST|something went wrong/i);
      },
    );

    it('calls only documented missing methods without success, and throws no error', () => {
      expect([...unknown].filter((method) => !MISSING_METHODS.has(method))).toEqual([]);
      expect(pageErrors).toEqual([]);
    });
  },
);
