/**
 * The view of a task in a real browser, in a sandboxed frame of a small client, with the data of a
 * real MCP server.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { build } from 'esbuild';
import type { FrameLocator, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { taskAppBundle, taskAppPage } from '../../tools/build.mjs';
import { type McpGateway, serveMcp } from '../channels/mcp/gateway.ts';
import { useBrowser } from './web-world.ts';
import { eventually } from '../runtime/eventually.ts';

const browser = useBrowser();
let app: string;
beforeAll(async () => {
  app = taskAppPage((await build(taskAppBundle)).outputFiles[0]!.text);
}, 60_000);

const URI = 'ui://troupe/task.html';
const HOLD = 'test__hold_work-v1';
const APPS = {
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
};
/** For a machine that does much else, milliseconds. */
const PATIENT_MS = 25_000;
/** What a client must enforce for a view that declares no domains. */
const POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'none'";

/** A client: answers the view, and passes its calls on to `callTool` of the test. */
const CLIENT = `<!doctype html><body><iframe sandbox="allow-scripts" src="/view" style="width:700px;height:600px"></iframe>
<script>
  const { contentWindow: view } = document.querySelector('iframe');
  const send = (message) => view.postMessage({ jsonrpc: '2.0', ...message }, '*');
  window.seen = [];
  window.send = send;
  window.addEventListener('message', async ({ source, data }) => {
    if (source !== view) return;
    window.seen.push(data);
    const { id, method, params } = data;
    if (method === 'ui/initialize')
      send({ id, result: { protocolVersion: '2026-01-26', hostInfo: { name: 'test', version: '1' },
        hostCapabilities: { serverTools: {} },
        hostContext: { theme: 'light', toolInfo: { tool: { name: '${HOLD}' } } } } });
    if (method === 'tools/call') send({ id, result: await window.callTool(params) });
  });
</script></body>`;

type Shown = {
  readonly page: Page;
  readonly view: FrameLocator;
  /** what the browser requested, and what it complained about */
  readonly requested: string[];
  readonly complaints: string[];
  /** sends a message to the view */
  readonly send: (message: object) => Promise<void>;
  /** what the view sent */
  readonly seen: () => Promise<
    { method?: string; id?: number; result?: unknown; params?: object }[]
  >;
};

type CallTool = (params: { name: string; arguments: object }) => Promise<object>;

async function showApp(html: string, callTool: CallTool): Promise<Shown> {
  const server = createServer(({ url }, response) => {
    const isView = url === '/view';
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      ...(isView ? { 'content-security-policy': POLICY } : {}),
    });
    response.end(isView ? html : CLIENT);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const context = await browser().newContext({ locale: 'en-US', colorScheme: 'light' });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENT_MS);
  const requested: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requested.push(request.url().replace(origin, '')));
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.exposeFunction('callTool', callTool);
  await page.goto(`${origin}/`);
  return {
    page,
    view: page.frameLocator('iframe'),
    requested,
    complaints,
    send: (message) => page.evaluate((one) => (window as never as Client).send(one), message),
    seen: () => page.evaluate(() => (window as never as Client).seen),
  };
}
type Client = { send(message: object): void; seen: Awaited<ReturnType<Shown['seen']>> };

/** The page as its server sends it, and the calls of its tool. */
const servedBy = async ({ rpc }: McpGateway): Promise<[string, CallTool]> => {
  const read = await rpc('resources/read', { uri: URI }, { capabilities: APPS });
  return [
    read.result.contents[0].text,
    async (params) => (await rpc('tools/call', params, { capabilities: APPS })).result,
  ];
};

const activeState = (view: FrameLocator, path: string) =>
  view.locator(`[data-state="${path}"].active`);

test('the view follows a task from its work to its end', async () => {
  const gateway = await serveMcp('none', { taskApp: () => Promise.resolve(app) });
  const call = gateway.rpc('tools/call', { name: HOLD, arguments: { gate: 'a' } });
  await eventually(() => expect(gateway.gate.begun).toContain('a'));
  const { view, send, seen, requested, complaints } = await showApp(...(await servedBy(gateway)));
  await send({ method: 'ui/notifications/tool-input', params: { arguments: { gate: 'a' } } });
  await activeState(view, 'running.performing').waitFor();
  expect(await view.locator('h1').innerText()).toBe('test.hold_work');
  expect(await view.locator('.task-state').innerText()).toBe('RUNNING');
  expect(await activeState(view, 'ended.succeeded').count()).toBe(0);
  expect(await view.getByRole('status').textContent()).toBe('Active: running.performing');

  gateway.gate.open('a');
  const { result } = await call;
  await activeState(view, 'ended.succeeded').waitFor();
  expect(await activeState(view, 'running.performing').count()).toBe(0);
  await send({ method: 'ui/notifications/tool-result', params: result });
  await view.getByText('test.hold_work.done: SUCCEEDED').waitFor();
  const methods = (await seen()).map(({ method }) => method);
  expect(methods.slice(0, 2)).toEqual(['ui/initialize', 'ui/notifications/initialized']);
  expect(methods).toContain('ui/notifications/size-changed');
  await send({ id: 'end', method: 'ui/resource-teardown', params: { reason: 'test' } });
  await eventually(async () =>
    expect(await seen()).toContainEqual({ jsonrpc: '2.0', id: 'end', result: {} }),
  );
  expect(requested).toEqual(['/', '/view']);
  expect(complaints).toEqual([]);
});

test('a result that names its task is shown, also of a task that failed', async () => {
  const gateway = await serveMcp('none', { taskApp: () => Promise.resolve(app) });
  const name = 'test__fail_always-v1';
  const { result } = await gateway.rpc('tools/call', { name, arguments: {} });
  const { view, send, page } = await showApp(...(await servedBy(gateway)));
  await view.getByText('Waiting for the task of this call').waitFor();
  await send({ method: 'ui/notifications/tool-result', params: result });
  await activeState(view, 'ended.failed').waitFor();
  await view.getByRole('alert').getByText('INVALID_ARGUMENT: never good enough').waitFor();

  const colorOf = () =>
    view.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor);
  const paperOf = () =>
    view.locator('svg.statechart').evaluate((svg) => getComputedStyle(svg).backgroundColor);
  const light = [await colorOf(), await paperOf()];
  expect(light).toEqual(['rgb(255, 255, 255)', 'rgb(255, 255, 255)']);
  const variables = { '--color-text-primary': 'rgb(1, 2, 3)', 'background-image': 'url(/leak)' };
  const params = { theme: 'dark', styles: { variables } };
  await send({ method: 'ui/notifications/host-context-changed', params });
  await eventually(async () => expect(await colorOf()).toBe('rgb(15, 20, 28)'));
  expect(await paperOf()).toBe('rgb(15, 20, 28)');
  const ink = await view.locator('body').evaluate((body) => getComputedStyle(body).color);
  expect(ink).toBe('rgb(1, 2, 3)');
  await page.close();
});

test('everything that comes from outside is shown as text', async () => {
  const hostile = '<img src="/leak" onerror="parent.postMessage(1,\'*\')"><script>1</script>';
  const state = (key: string, path: string, states: object[] = []) => ({
    key,
    path,
    states,
    kind: states.length > 0 ? 'compound' : 'atomic',
    description: hostile,
    invokes: [hostile],
    handles: [hostile],
    defers: [hostile],
  });
  const chart = {
    type: hostile,
    version: 1,
    hash: 'h',
    levels: [],
    chart: { root: state(hostile, '', [state(hostile, hostile)]), edges: [] },
  };
  const event = { n: 1, event: hostile, at: '2026-01-01T00:00:00Z', state: hostile };
  const task = {
    task_id: hostile,
    action: hostile,
    state: hostile,
    isFinal: true,
    events: [event],
    waiting: hostile,
    error: hostile,
  };
  const structuredContent = { task, actor: { machine: hostile, state: hostile }, chart };
  const { view, send, requested, complaints, seen } = await showApp(app, () =>
    Promise.resolve({ content: [], structuredContent }),
  );
  await view.getByText('Waiting for the task of this call').waitFor();
  const meta = { 'troupe/task': { task_id: hostile } };
  await send({ method: 'ui/notifications/tool-result', params: { _meta: meta } });
  await view.locator('h1').waitFor();
  expect(await view.locator('h1').innerText()).toBe(hostile);
  expect(await view.locator('img, main script').count()).toBe(0);
  expect(requested).toEqual(['/', '/view']);
  expect(complaints).toEqual([]);
  expect(await seen()).not.toContain(1);
});

test('a task that cannot be read is reported, and read again', async () => {
  const gateway = await serveMcp('none', { taskApp: () => Promise.resolve(app) });
  const echo = { name: 'test__echo_text-v1', arguments: { text: 'x' } };
  const { result } = await gateway.rpc('tools/call', echo);
  const [html, callTool] = await servedBy(gateway);
  let failures = 1;
  const { view, send } = await showApp(html, (params) =>
    failures-- > 0
      ? Promise.resolve({ isError: true, content: [{ type: 'text', text: 'no rest' }] })
      : callTool(params),
  );
  await view.getByText('Waiting for the task of this call').waitFor();
  await eventually(() => expect(failures).toBeLessThanOrEqual(0));
  failures = 1;
  await send({ method: 'ui/notifications/tool-result', params: result });
  await view.getByText('The task cannot be read: no rest').waitFor();
  await activeState(view, 'ended.succeeded').waitFor();
  expect(await view.getByText('The task cannot be read').count()).toBe(0);
});
