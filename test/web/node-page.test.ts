/** The page of a node, with real sessions and devices: it pairs, executes, refuses, reconnects. */
import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import type { GatewayOptions } from '../../channels/index.ts';
import { type Client, connected, TOKEN } from '../channels/gateway/client.ts';
import { FAKE_SENSES } from './chromium.ts';
import { useRealSessions } from './web-world.ts';

const web = useRealSessions({ flags: FAKE_SENSES, starts: false });
let operator: Client;

/** Like the artifact store, in memory. */
const files = new Map<string, string>();
const payloads: NonNullable<GatewayOptions['payloads']> = {
  put: async (_tenant, text) => {
    const name = createHash('sha256').update(text).digest('hex');
    files.set(name, text);
    return name;
  },
  get: async (_tenant, name) => files.get(name)!,
};

const SCOPES = ['operator.admin', 'operator.pairing', 'operator.read', 'operator.write'];

const serve = async (options: Partial<GatewayOptions> = {}): Promise<void> => {
  await web.serve({ payloads, ...options });
  operator = await connected(web.gateway, { scopes: SCOPES });
  onTestFinished(() => operator.close());
};

const newContext = () =>
  web.browser.newContext({
    locale: 'en-US',
    permissions: ['camera', 'geolocation', 'notifications'],
    geolocation: { latitude: 10.77, longitude: 106.7 },
  });

/** With everything switched on; camera and screen are off at first. */
const openNode = async (): Promise<Page> => {
  const context = await newContext();
  await context.addInitScript(() => {
    localStorage['troupe.node.off'] ??= '';
  });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  await page.goto(`${web.gateway.url}node.html#token=${TOKEN}`);
  return page;
};

const here = (page: Page) => page.locator('.connection.online').waitFor();
const idOf = async (page: Page) => (await page.locator('.device-id').getAttribute('title'))!;

const invoke = (nodeId: string, command: string, params: object = {}, key: string = randomUUID()) =>
  operator.call('node.invoke', {
    nodeId,
    command,
    params,
    idempotencyKey: key,
    timeoutMs: 20_000,
  });

/** As soon as the commands of the device are known and approved. */
const ready = async (nodeId: string, command = 'camera.snap'): Promise<void> =>
  expect
    .poll(async () => (await operator.call('node.describe', { nodeId })).payload?.commands, {
      timeout: 10_000,
    })
    .toContain(command);

test('a page is paired as a node, and sends its commands with schemas and permissions', async () => {
  await serve();
  const page = await openNode();
  await here(page);
  const nodeId = await idOf(page);
  await ready(nodeId);
  const { payload } = await operator.call('node.describe', { nodeId });
  expect(payload).toMatchObject({
    connected: true,
    platform: 'web',
    caps: ['canvas', 'camera', 'screen', 'location', 'notifications'],
    permissionStates: {
      canvas: 'granted',
      camera: 'granted',
      screen: 'undetermined',
      location: 'granted',
    },
  });
  expect(payload.commandSchemas['camera.snap'].properties.facing).toEqual({
    enum: ['front', 'back'],
  });
  // The same browser is the same device, with a key that no script can read.
  await page.reload();
  await here(page);
  expect(await idOf(page)).toBe(nodeId);
});

test('a page takes a picture, returns its position, and records the screen when its user agrees', async () => {
  await serve();
  const page = await openNode();
  await here(page);
  const nodeId = await idOf(page);
  await ready(nodeId);

  const picture = await invoke(nodeId, 'camera.snap', { maxWidth: 320, quality: 0.6 });
  expect(picture.error).toBeUndefined();
  expect(picture.payload.payload).toMatchObject({ format: 'jpeg', width: 320 });
  expect(Buffer.from(picture.payload.payload.base64, 'base64').subarray(0, 3)).toEqual(
    Buffer.from([0xff, 0xd8, 0xff]),
  );

  const place = await invoke(nodeId, 'location.get');
  expect(place.payload.payload).toMatchObject({ lat: 10.77, lon: 106.7 });

  const filming = invoke(nodeId, 'screen.record', { durationMs: 500, fps: 10 });
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  const film = await filming;
  expect(film.error).toBeUndefined();
  expect(film.payload.payload.format).toBe('webm');
  // The first bytes of every WebM file (EBML).
  const head = Buffer.from(film.payload.payload.base64, 'base64').subarray(0, 4).toString('hex');
  expect(head).toBe('1a45dfa3');

  const refused = invoke(nodeId, 'screen.record', { durationMs: 500 });
  await page.getByRole('button', { name: 'Refuse' }).click();
  expect((await refused).error?.message).toContain('said no');
  await page.locator('.asked', { hasText: 'camera.snap' }).waitFor();
}, 60_000);

test('content of an agent runs no script, fetches nothing and is in a separate frame', async () => {
  await serve();
  const page = await openNode();
  let fetched = 0;
  const elsewhere = createServer((_request, response) => {
    fetched++;
    response.end();
  });
  await new Promise<void>((resolve) => void elsewhere.listen(0, '127.0.0.1', resolve));
  const { port } = elsewhere.address() as AddressInfo;
  await here(page);
  const nodeId = await idOf(page);
  await ready(nodeId);
  const html =
    '<style>p { color: rgb(1, 2, 3) }</style><p id="shown" onclick="parent.document.title=1">Hello</p>' +
    `<img src="http://127.0.0.1:${port}/x.png" onerror="parent.document.title=2">` +
    '<script>parent.document.title = 3</script>';
  const title = await page.title();
  const { payload } = await invoke(nodeId, 'canvas.push', { html, title: 'A greeting' });
  expect(payload.payload).toMatchObject({ shown: true, kind: 'html' });
  const shown = page.frameLocator('iframe[title="A greeting"]').locator('#shown');
  await shown.waitFor();
  expect(await shown.evaluate((element) => getComputedStyle(element).color)).toBe('rgb(1, 2, 3)');
  await shown.click();
  expect(await page.title()).toBe(title);
  await invoke(nodeId, 'canvas.push', { text: '<b>text</b>' });
  await page.locator('.canvas pre', { hasText: '<b>text</b>' }).waitFor();
  expect(fetched).toBe(0);
  elsewhere.close();
});

test('a disabled capability is reported as denied and refused; parameters are validated', async () => {
  await serve();
  const page = await openNode();
  await here(page);
  const nodeId = await idOf(page);
  await ready(nodeId);
  await page.getByRole('switch', { name: 'Take a picture' }).uncheck();
  const states = async () =>
    (await operator.call('node.describe', { nodeId })).payload.permissionStates;
  await expect.poll(async () => (await states()).camera, { timeout: 10_000 }).toBe('denied');
  const denied = await invoke(nodeId, 'camera.snap');
  expect(denied.error).toMatchObject({ code: 'FORBIDDEN' });
  await page.getByRole('switch', { name: 'Take a picture' }).check();
  await expect.poll(async () => (await states()).camera, { timeout: 10_000 }).toBe('granted');
  const wrong = await invoke(nodeId, 'camera.snap', { facing: 'up' });
  expect(wrong.error?.message).toContain('facing');
});

test('a repeated key returns the same picture, and the page reconnects after a restart', async () => {
  await serve();
  const page = await openNode();
  await here(page);
  const nodeId = await idOf(page);
  await ready(nodeId);
  const first = await invoke(nodeId, 'camera.snap', { maxWidth: 64 }, 'one-picture');
  const again = await invoke(nodeId, 'camera.snap', { maxWidth: 64 }, 'one-picture');
  expect(again.payload).toEqual(first.payload);
  expect(await page.locator('.asked li').count()).toBe(1);

  const { port } = web.gateway;
  await operator.close();
  await web.gateway.close({ reason: 'restart' });
  await serve({ port });
  await here(page);
  await ready(nodeId);
  const place = await invoke(nodeId, 'location.get');
  expect(place.payload.payload.lat).toBe(10.77);
}, 60_000);

test('without automatic pairing the page waits, and the view of devices approves it', async () => {
  await serve({ auth: { mode: 'token', token: TOKEN, allowLocal: false } });
  const context = await newContext();
  const first = await context.newPage();
  // A browser that does not support screen recording.
  await first.addInitScript(() => Reflect.deleteProperty(globalThis, 'MediaRecorder'));
  await first.goto(`${web.gateway.url}node.html#token=${TOKEN}`);
  await first.getByText('troupe devices approve').waitFor();
  const page = await web.browser.newPage({ locale: 'en-US' });
  page.setDefaultTimeout(10_000);
  await page.goto(`${web.gateway.url}#token=${TOKEN}`);
  await page.getByRole('link', { name: /^Devices.*1 waits for you/ }).click();
  const panel = page.getByRole('main', { name: 'Devices' });
  await panel.getByText(/^Approve .+\?$/).waitFor();
  await panel.getByRole('button', { name: 'Approve' }).click();
  await here(first);
  await first.close();

  // It reconnects with its own token and with more commands: a second request.
  const node = await context.newPage();
  await node.goto(`${web.gateway.url}node.html`);
  await here(node);
  await panel.getByText(/^Allow agents to use these commands of/).waitFor();
  await panel.getByText('screen.record').first().waitFor();
  await panel.getByRole('button', { name: 'Approve' }).click();
  await panel.getByText(/^Allow agents to use/).waitFor({ state: 'detached' });
  await ready(await idOf(node), 'screen.record');
  await panel.getByText('Connected', { exact: true }).waitFor();

  await panel.getByRole('button', { name: 'Rename' }).click();
  await panel.getByRole('textbox').fill('The tablet');
  await page.keyboard.press('Enter');
  await panel.getByText('The tablet', { exact: true }).waitFor();
  await panel.getByRole('button', { name: 'Remove' }).click();
  await panel.getByRole('button', { name: 'Delete' }).click();
  await panel.getByText('The tablet', { exact: true }).waitFor({ state: 'detached' });
  expect((await operator.call('node.list', {})).payload.nodes).toEqual([]);
}, 60_000);

// Bug: the second tab answered that the page was closed, while the first one still asked its user.
test('a command runs in one of two tabs, and the other one does not answer it', async () => {
  await serve();
  const page = await openNode();
  await here(page);
  const nodeId = await idOf(page);
  await ready(nodeId);
  const filming = invoke(nodeId, 'screen.record', { durationMs: 200, fps: 10 });
  const allow = page.getByRole('button', { name: 'Allow', exact: true });
  await allow.waitFor();
  const second = await page.context().newPage();
  await second.goto(`${web.gateway.url}node.html#token=${TOKEN}`);
  await here(second);
  await allow.click();
  const film = await filming;
  expect(film.error).toBeUndefined();
  expect(film.payload.payload.format).toBe('webm');
  expect(await second.locator('.asked li').count()).toBe(0);
}, 60_000);

test('a command whose tab is closed has an unknown outcome, which the other tab reports', async () => {
  await serve();
  const page = await openNode();
  await here(page);
  const nodeId = await idOf(page);
  await ready(nodeId);
  const filming = invoke(nodeId, 'screen.record', { durationMs: 200, fps: 10 });
  await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
  const second = await page.context().newPage();
  await second.goto(`${web.gateway.url}node.html#token=${TOKEN}`);
  await here(second);
  await page.close();
  expect((await filming).error).toMatchObject({ code: 'UNAVAILABLE' });
  expect((await invoke(nodeId, 'location.get')).payload.payload.lat).toBe(10.77);
}, 60_000);
