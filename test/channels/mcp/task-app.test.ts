/** The view of tasks: which clients see it, and what its tool answers. */
import { expect, test } from 'vitest';
import { serveMcp } from './gateway.ts';
import { eventually } from '../../runtime/eventually.ts';

const PAGE = '<!doctype html><title>Task</title>';
const URI = 'ui://troupe/task.html';
const CHART = 'task__get_chart-v1';
const APPS = {
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
};
const OTHER_TYPES = {
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/uri-list'] } },
};

const serve = () => serveMcp('read', { taskApp: () => Promise.resolve(PAGE) });
type Tool = { name: string; _meta?: { ui?: object } };

test('clients that show views get one for each action, and others see none', async () => {
  const { rpc } = await serve();
  const toolsOf = async (capabilities: object): Promise<Tool[]> =>
    (await rpc('tools/list', {}, { capabilities })).result.tools;
  const shown = await toolsOf(APPS);
  const viewOf = (name: string) => shown.find((tool) => tool.name === name)?._meta?.ui;
  expect(viewOf('test__hold_work-v1')).toEqual({ resourceUri: URI });
  expect(viewOf(CHART)).toEqual({ visibility: ['app'] });
  const read = await rpc('resources/read', { uri: URI }, { capabilities: APPS });
  expect(read.result.contents).toEqual([
    {
      uri: URI,
      mimeType: 'text/html;profile=mcp-app',
      text: PAGE,
      _meta: {
        ui: {
          csp: { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] },
          prefersBorder: true,
        },
      },
    },
  ]);
  for (const capabilities of [{}, OTHER_TYPES, { extensions: {} }]) {
    const tools = await toolsOf(capabilities);
    expect(JSON.stringify(tools)).not.toContain('"ui"');
    expect(tools.map(({ name }) => name)).toEqual(
      shown.map(({ name }) => name).filter((name) => name !== CHART),
    );
    const refused = await rpc('resources/read', { uri: URI }, { capabilities });
    expect(refused).toMatchObject({ error: { code: -32_602 } });
  }
});

test('without a page there is no view and no tool for it', async () => {
  const { rpc } = await serveMcp();
  const as = { capabilities: APPS };
  expect(JSON.stringify((await rpc('tools/list', {}, as)).result)).not.toContain('"ui"');
  for (const [method, params] of [
    ['resources/read', { uri: URI }],
    ['tools/call', { name: CHART, arguments: {} }],
  ] as const)
    expect(await rpc(method, params, as)).toMatchObject({ error: { code: -32_602 } });
});

test('the tool shows where a task is in its chart, to who may read the task', async () => {
  const { rpc, gate } = await serve();
  const chart = async (args: object, as = 'alice') =>
    (await rpc('tools/call', { name: CHART, arguments: args }, { as })).result;
  const held = { name: 'test__hold_work-v1', arguments: { gate: 'a' } };
  const call = rpc('tools/call', held);
  await eventually(() => expect(gate.begun).toContain('a'));
  const running = await chart({ tool: held.name });
  expect(running.structuredContent).toMatchObject({
    task: { action: 'test.hold_work', state: 'RUNNING', isFinal: false },
    actor: { state: { running: 'performing' } },
    chart: { type: 'task', chart: { root: { key: 'task' } } },
  });
  expect(running.content[0].text).toContain('"performing"');
  expect(running.structuredContent.chart.levels.length).toBeGreaterThan(0);
  const { task, chart: published } = running.structuredContent;
  const args = { task_id: task.task_id, chart: published.hash };
  expect((await chart(args)).structuredContent).not.toHaveProperty('chart');
  expect(await chart(args, 'mallory')).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('"code":"NOT_FOUND"') }],
  });
  // Another caller has none of its own running, and two of one tool are ambiguous.
  expect(await chart({ tool: held.name }, 'operator')).not.toHaveProperty('structuredContent');
  const second = rpc('tools/call', { ...held, arguments: { gate: 'b' } });
  await eventually(() => expect(gate.begun).toContain('b'));
  expect(await chart({ tool: held.name })).not.toHaveProperty('structuredContent');
  for (const key of ['a', 'b']) gate.open(key);
  await Promise.all([call, second]);
  expect((await chart(args)).structuredContent).toMatchObject({
    task: { state: 'SUCCEEDED', isFinal: true },
    actor: { state: { ended: 'succeeded' } },
  });
  for (const wrong of [{}, { tool: 'nope' }, { tool: 'x__y-v1' }])
    expect(await chart(wrong)).toEqual(
      expect.objectContaining({
        content: [{ type: 'text', text: 'this tool has no running task' }],
      }),
    );
});
