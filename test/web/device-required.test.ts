/**
 * The page at a gateway with `gateway.auth.deviceIdentity: "always"`, in a real browser. It
 * connects as a device with a key that no script can read, waits for an approval if one is needed,
 * and shows why a browser cannot be a device.
 */
import type { BrowserContext, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { GatewayAuth } from '../../channels/gateway/auth/access.ts';
import { type DeviceRow, DEVICES_INDEX } from '../../protocols/device.ts';
import { TOKEN } from '../channels/gateway/client.ts';
import { forwarder } from '../channels/gateway/forwarder.ts';
import { runProgram } from '../cli/program.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { useRealSessions } from './web-world.ts';

const web = useRealSessions({
  flags: ['--host-resolver-rules=MAP afar.example 127.0.0.1'],
  starts: false,
});

const serve = (auth: Partial<GatewayAuth> = {}, port = 0) =>
  web.serve({ port, auth: { mode: 'token', token: TOKEN, deviceIdentity: 'always', ...auth } });

const open = async (url: string, context?: BrowserContext): Promise<Page> => {
  const page = await (context ?? (await web.browser.newContext({ locale: 'en-US' }))).newPage();
  page.setDefaultTimeout(10_000);
  await page.goto(url);
  return page;
};
const withToken = (url: string): string => `${url}#token=${TOKEN}`;
const online = (page: Page) => page.locator('.connection.online').waitFor();

const devices = async (): Promise<readonly string[]> => {
  const found: string[] = [];
  const fields = { fields: ['deviceId'] as const };
  await web.system.index.scan<DeviceRow, 'deviceId'>(
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
  const page = await open(withToken(web.gateway.url));
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
  const other = await open(web.gateway.url, page.context());
  await online(other);
  expect(await devices()).toEqual([device]);
});

test('tabs that are first opened at the same time are one device', async () => {
  await serve();
  const context = await web.browser.newContext({ locale: 'en-US' });
  const pages = await Promise.all([1, 2, 3].map(() => open(withToken(web.gateway.url), context)));
  await Promise.all(pages.map(online));
  await Promise.all(pages.map((page) => page.reload()));
  await Promise.all(pages.map(online));
  expect(await devices()).toHaveLength(1);
});

test('the page on another machine waits for an approval and shows its command', async () => {
  await serve({ trustedProxy: { proxies: ['127.0.0.1'] } });
  const remote = await forwarder(web.gateway);
  const page = await open(withToken(remote.url));
  const command = await page.getByRole('alert').locator('code').textContent();
  expect(command).toMatch(/^troupe devices approve [0-9a-f-]{36}$/);
  const home = scratchFolder();
  const env = { TROUPE_HOME: home, TROUPE_TOKEN: TOKEN };
  const args = [...command!.split(' ').slice(1), '--url', `ws://127.0.0.1:${web.gateway.port}`];
  expect(await runProgram(args, { home, env })).toMatchObject({ code: 0 });
  await online(page);
  await page.context().close();
  await remote.close();
});

test('a plain-HTTP page from another machine shows why it cannot be a device', async () => {
  await serve();
  const page = await open(withToken(`http://afar.example:${web.gateway.port}/`));
  await page.getByText('https:// or localhost').waitFor();
  expect(await page.getByLabel('Token').count()).toBe(0);
  expect(await devices()).toEqual([]);
});

test('bug: a browser that denies storage showed an empty page', async () => {
  await serve({ deviceIdentity: 'optional' });
  const context = await web.browser.newContext({ locale: 'en-US' });
  await context.addInitScript(() => {
    const denied = () => {
      throw new DOMException('denied', 'SecurityError');
    };
    for (const name of ['localStorage', 'sessionStorage', 'indexedDB'])
      Object.defineProperty(window, name, { get: denied });
  });
  const page = await open(withToken(web.gateway.url), context);
  await online(page);
  await page.getByRole('textbox', { name: 'Message' }).fill('what is 6*7?');
  await page.keyboard.press('Enter');
  await page.getByText('42').first().waitFor();
  expect(await devices()).toEqual([]);
});

test('bug: a damaged key in the browser kept the page out permanently', async () => {
  await serve();
  const page = await open(withToken(web.gateway.url));
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

test('a page whose device was removed connects to a web.gateway that requires none', async () => {
  await serve();
  const page = await open(withToken(web.gateway.url));
  await online(page);
  const [device] = await devices();
  const env = { TROUPE_HOME: scratchFolder(), TROUPE_TOKEN: TOKEN };
  const args = ['devices', 'remove', device!, '--url', `ws://127.0.0.1:${web.gateway.port}`];
  expect(await runProgram(args, { home: env.TROUPE_HOME, env })).toMatchObject({ code: 0 });
  const { port } = web.gateway;
  await web.gateway.close();
  await serve({ deviceIdentity: 'optional', allowLocal: false }, port);
  await page.reload();
  await online(page);
});

test('no device is sent to a web.gateway that requires none', async () => {
  await serve({ deviceIdentity: 'optional' });
  await online(await open(withToken(web.gateway.url)));
  expect(await devices()).toEqual([]);
});
