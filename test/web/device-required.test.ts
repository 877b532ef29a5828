/**
 * The page at a gateway with `gateway.auth.deviceIdentity: "always"`, in a real browser. It
 * connects as a device with a key that no script can read, waits for an approval if one is needed,
 * and shows why a browser cannot be a device.
 */
import { rmSync } from 'node:fs';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { GatewayAuth } from '../../channels/gateway/auth/access.ts';
import type { Gateway } from '../../channels/index.ts';
import { type DeviceRow, DEVICES_INDEX } from '../../protocols/device.ts';
import type { System } from '../../runtime/index.ts';
import { gatewayOn, TOKEN } from '../channels/gateway/client.ts';
import { forwarder } from '../channels/gateway/forwarder.ts';
import { dataFolder, openRealSystem } from '../channels/gateway/real-system.ts';
import { runProgram } from '../cli/program.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { buildPage } from './built-page.ts';
import { chromiumPath, NO_CHROMIUM, openChromium } from './chromium.ts';

let browser: Browser | undefined;
let webRoot = '';
let folder: ReturnType<typeof dataFolder>;
let system: System;
let gateway: Gateway;

beforeAll(async () => {
  if (chromiumPath === undefined) return;
  browser = await openChromium(['--host-resolver-rules=MAP afar.example 127.0.0.1']);
  webRoot = await buildPage();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  if (webRoot !== '') rmSync(webRoot, { recursive: true });
});
beforeEach(async (context) => {
  if (chromiumPath === undefined) context.skip(NO_CHROMIUM);
  folder = dataFolder();
  system = await openRealSystem(folder.path, 1_000);
});
afterEach(async () => {
  if (browser === undefined) return;
  for (const context of browser.contexts()) await context.close();
  await gateway.close();
  await system.stop();
  folder.remove();
});

const serve = async (auth: Partial<GatewayAuth> = {}, port = 0): Promise<void> => {
  gateway = await gatewayOn(system, {
    webRoot,
    port,
    auth: { mode: 'token', token: TOKEN, deviceIdentity: 'always', ...auth },
  });
};

const open = async (url: string, context?: BrowserContext): Promise<Page> => {
  const page = await (context ?? (await browser!.newContext({ locale: 'en-US' }))).newPage();
  page.setDefaultTimeout(10_000);
  await page.goto(url);
  return page;
};
const withToken = (url: string): string => `${url}#token=${TOKEN}`;
const online = (page: Page) => page.locator('.connection.online').waitFor();

const devices = async (): Promise<readonly string[]> => {
  const found: string[] = [];
  const fields = { fields: ['deviceId'] as const };
  await system.index.scan<DeviceRow, 'deviceId'>(
    DEVICES_INDEX,
    'default',
    fields,
    ({ deviceId }) => void found.push(deviceId),
  );
  return found;
};

/** `extractable` of the page's private key, and whether a script can export it. */
const keyFacts = (page: Page) =>
  page.evaluate(async () => {
    const opened = indexedDB.open('troupe-node');
    const db = await new Promise<IDBDatabase>((resolve) => {
      opened.addEventListener('success', () => resolve(opened.result));
    });
    const asked = db.transaction('keys').objectStore('keys').get('page');
    const { privateKey } = await new Promise<CryptoKeyPair>((resolve) => {
      asked.addEventListener('success', () => resolve(asked.result as CryptoKeyPair));
    });
    const exported = await crypto.subtle.exportKey('pkcs8', privateKey).then(
      () => true,
      () => false,
    );
    return { extractable: privateKey.extractable, exported };
  });

test('the page on this machine connects as a device, and is the same one after a reload', async () => {
  await serve();
  const page = await open(withToken(gateway.url));
  await online(page);
  const [device] = await devices();
  expect(await keyFacts(page)).toEqual({ extractable: false, exported: false });
  await page.getByRole('textbox', { name: 'Message' }).fill('what is 6*7?');
  await page.keyboard.press('Enter');
  await page.getByText('42').first().waitFor();
  await page.reload();
  await online(page);
  expect(await devices()).toEqual([device]);
  // Another tab needs no token: the device has its own.
  const other = await open(gateway.url, page.context());
  await online(other);
  expect(await devices()).toEqual([device]);
});

test('tabs that are first opened at the same time are one device', async () => {
  await serve();
  const context = await browser!.newContext({ locale: 'en-US' });
  const pages = await Promise.all([1, 2, 3].map(() => open(withToken(gateway.url), context)));
  await Promise.all(pages.map(online));
  await Promise.all(pages.map((page) => page.reload()));
  await Promise.all(pages.map(online));
  expect(await devices()).toHaveLength(1);
});

test('the page on another machine waits for an approval and shows its command', async () => {
  await serve({ trustedProxy: { proxies: ['127.0.0.1'] } });
  const remote = await forwarder(gateway);
  const page = await open(withToken(remote.url));
  const command = await page.getByRole('alert').locator('code').textContent();
  expect(command).toMatch(/^troupe devices approve [0-9a-f-]{36}$/);
  const home = scratchFolder();
  const env = { TROUPE_HOME: home, TROUPE_TOKEN: TOKEN };
  const args = [...command!.split(' ').slice(1), '--url', `ws://127.0.0.1:${gateway.port}`];
  expect(await runProgram(args, { home, env })).toMatchObject({ code: 0 });
  await online(page);
  await page.context().close();
  await remote.close();
});

test('a plain-HTTP page from another machine shows why it cannot be a device', async () => {
  await serve();
  const page = await open(withToken(`http://afar.example:${gateway.port}/`));
  await page.getByText('https:// or localhost').waitFor();
  expect(await page.getByLabel('Token').count()).toBe(0);
  expect(await devices()).toEqual([]);
});

test('bug: a browser that denies storage showed an empty page', async () => {
  await serve({ deviceIdentity: 'optional' });
  const context = await browser!.newContext({ locale: 'en-US' });
  await context.addInitScript(() => {
    const denied = () => {
      throw new DOMException('denied', 'SecurityError');
    };
    for (const name of ['localStorage', 'sessionStorage', 'indexedDB'])
      Object.defineProperty(window, name, { get: denied });
  });
  const page = await open(withToken(gateway.url), context);
  await online(page);
  await page.getByRole('textbox', { name: 'Message' }).fill('what is 6*7?');
  await page.keyboard.press('Enter');
  await page.getByText('42').first().waitFor();
  expect(await devices()).toEqual([]);
});

test('bug: a damaged key in the browser kept the page out permanently', async () => {
  await serve();
  const page = await open(withToken(gateway.url));
  await online(page);
  await page.evaluate(async () => {
    const opened = indexedDB.open('troupe-node');
    await new Promise((resolve) => opened.addEventListener('success', resolve));
    const other = { name: 'ECDSA', namedCurve: 'P-256' };
    const pair = await crypto.subtle.generateKey(other, false, ['sign', 'verify']);
    const keys = opened.result.transaction('keys', 'readwrite').objectStore('keys');
    const put = keys.put(pair, 'page');
    await new Promise((resolve) => put.addEventListener('success', resolve));
    opened.result.close();
  });
  await page.reload();
  await online(page);
  expect(await devices()).toHaveLength(2);
});

test('a page whose device was removed connects to a gateway that requires none', async () => {
  await serve();
  const page = await open(withToken(gateway.url));
  await online(page);
  const [device] = await devices();
  const env = { TROUPE_HOME: scratchFolder(), TROUPE_TOKEN: TOKEN };
  const args = ['devices', 'remove', device!, '--url', `ws://127.0.0.1:${gateway.port}`];
  expect(await runProgram(args, { home: env.TROUPE_HOME, env })).toMatchObject({ code: 0 });
  const { port } = gateway;
  await gateway.close();
  await serve({ deviceIdentity: 'optional', allowLocal: false }, port);
  await page.reload();
  await online(page);
});

test('no device is sent to a gateway that requires none', async () => {
  await serve({ deviceIdentity: 'optional' });
  await online(await open(withToken(gateway.url)));
  expect(await devices()).toEqual([]);
});
