/** Calls that end while the gateway stops: real routes over HTTP, with a tool that waits. */
import { expect, onTestFinished, test } from 'vitest';
import type { CallContext, McpTool } from '../../../channels/mcp/catalog.ts';
import { failedCall } from '../../../channels/mcp/errors.ts';
import { MCP_PATH, mcpRoutes } from '../../../channels/mcp/route.ts';
import { systemClock } from '../../../runtime/index.ts';
import { serveRoutes } from '../http/operation-server.ts';
import { rpcTo } from './gateway.ts';

/** A tool whose calls wait for `end`, and fail if its argument says so. */
function waitingTool() {
  let [begin, end] = [() => {}, () => {}];
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const ended = new Promise<void>((resolve) => (end = resolve));
  const tool: McpTool<CallContext> = {
    definition: { name: 'wait', inputSchema: { type: 'object' } },
    async call({ fails }) {
      begin();
      await ended;
      if (fails) return failedCall({ code: 'DEADLINE_EXCEEDED', message: 'the task continues' });
      return { content: [] };
    },
  };
  return { tool, begun, end };
}

async function answerWhileStopping(args: object, meta: object) {
  const { tool, begun, end } = waitingTool();
  const { routes, close } = mcpRoutes({
    loadCatalog: () => Promise.resolve(() => ({ tools: () => [tool], tool: () => tool })),
    identity: {
      authenticate: () =>
        Promise.resolve({ sub: 'alice', roles: [], tenant: 'acme', profile: 'A2A-Basic' }),
    },
    home: 'acme',
    authMode: 'none',
    publicUrl: () => url,
    issuers: [],
    info: { name: 'test', version: '1' },
    clock: systemClock,
    log: { error: () => {} },
  });
  const { url } = await serveRoutes(routes);
  onTestFinished(end);
  const answer = rpcTo(url + MCP_PATH)('tools/call', {
    name: 'wait',
    arguments: args,
    _meta: meta,
  });
  await begun;
  const closed = close();
  end();
  await closed;
  return answer;
}

const KEY = { 'troupe/idempotency-key': 'one' };

test('what has succeeded is answered, because not every tool knows the key of a repeat', async () => {
  const { status, result } = await answerWhileStopping({}, KEY);
  expect([status, result.content]).toEqual([200, []]);
});

test('a call that has not succeeded is to be sent again with its key', async () => {
  const { status, error } = await answerWhileStopping({ fails: true }, KEY);
  expect([status, error]).toMatchObject([503, { code: 'UNAVAILABLE' }]);
});

test('a call without a key is answered: a repeat would be another call', async () => {
  const { status, result } = await answerWhileStopping({ fails: true }, {});
  expect([status, result.isError]).toEqual([200, true]);
});
