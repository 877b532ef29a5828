/** Permanent permissions for tools of MCP servers: for one server, not for its name. */
import { expect, it } from 'vitest';
import { agentTools } from '../../../agent/mcp/agent-tools.ts';
import { createHooks } from '../../../agent/hooks/create-hooks.ts';
import { planCalls } from '../../../agent/policy/plan.ts';
import { createToolRegistry } from '../../../agent/tools/registry.ts';

const LISTED = {
  name: 'mcp__test__change',
  serverName: 'change',
  description: 'Changes it.',
  inputSchema: { type: 'object' },
  readOnly: false,
  idempotent: false,
};
type Place = { readonly url?: string; readonly command?: string; readonly args?: string[] };

async function questionOf(place: Place, allowed: readonly string[], allow: readonly string[] = []) {
  const settings = { approval: 'changes', timeoutSeconds: 5, args: [], ...place } as const;
  const { tools } = await agentTools('test', [LISTED], settings);
  const about = { agentId: 'main', sessionKey: 'agent:main:main', runId: 'r' };
  const [planned] = await planCalls([{ id: 'c', name: LISTED.name, args: {} }], {
    tools: createToolRegistry(tools),
    hooks: createHooks(),
    settings: {
      agentId: 'main',
      tools: { exec: { allow } },
    },
    about: { ...about, tenant: 'default' },
    allowed,
  } as never);
  return planned?.question;
}

it.each<[Place, Place]>([
  [{ command: 'server' }, { command: 'other' }],
  [
    { command: 'server', args: ['--safe'] },
    { command: 'server', args: [] },
  ],
  [
    { command: 'server', args: ['a b'] },
    { command: 'server', args: ['a', 'b'] },
  ],
  [{ url: 'https://a.example/mcp' }, { url: 'https://b.example/mcp' }],
])('a permission for %j is none for %j under the same name', async (one, other) => {
  const asked = await questionOf(one, []);
  expect(asked).toMatchObject({ command: 'mcp__test__change' });
  const pattern = asked!.pattern;
  expect(await questionOf(one, [pattern])).toBeUndefined();
  expect(await questionOf(other, [pattern])).toBeDefined();
  // Of former versions, without a server.
  expect(await questionOf(one, ['mcp__test__change'])).toBeDefined();
  // The configuration names servers and permissions together.
  expect(await questionOf(one, [], ['mcp__test__change'])).toBeUndefined();
});
