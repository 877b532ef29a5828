/** The documents, agents, schemas and functions of a complete shipped troupe, over HTTP. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Capabilities } from '../../../channels/http/capabilities.ts';
import type { ListedAgent } from '../../../channels/http/registry.ts';
import { startTroupe, type Troupe } from '../../../compose/embedded.ts';
import { type ActionSpec, AGENTS_INDEX, type AgentRow } from '../../../protocols/action.ts';
import type { FunctionDefinition, ToolMessage } from '../../../protocols/models/function-call.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { runProgram } from '../../cli/program.ts';
import { eventually } from '../../runtime/eventually.ts';
import { newHead } from '../../protocols/new-envelope.ts';

vi.setConfig({ testTimeout: 30_000, hookTimeout: 60_000 });
const TOKEN = 'the-gateways-own-token';

let home: string;
let troupe: Troupe;
let origin: string;
let rows: readonly AgentRow[];
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'troupe-capabilities-'));
  const flags = { data: home, port: '0', token: TOKEN };
  const { config } = loadConfig({ env: {}, flags });
  troupe = await startTroupe({ ...config, log: { ...config.log, level: 'error' } });
  ({ origin } = new URL(troupe.url));
  rows = await eventually(async () => {
    const { actions } = await get<Capabilities>('/mcp/capabilities');
    const found = troupe.system.index.list<AgentRow>(AGENTS_INDEX, 'default');
    const registered = found.flatMap(({ value }) => value.actions);
    if (registered.length !== actions.length) throw new Error('not all are registered yet');
    return found.map(({ value }) => value);
  });
});
afterAll(async () => {
  await troupe.stop();
  rmSync(home, { recursive: true, force: true });
});

const authorization = `Bearer ${TOKEN}`;
async function get<T>(path: string): Promise<T> {
  const response = await fetch(`${origin}${path}`, { headers: { authorization } });
  if (response.status !== 200) throw new Error(`${path}: ${await response.text()}`);
  return (await response.json()) as T;
}
const nameOf = ({ action, action_version }: Pick<ActionSpec, 'action' | 'action_version'>) =>
  `${action} ${action_version}`;
const specs = () => rows.flatMap(({ actions }) => actions);

describe('the capabilities', () => {
  it.each(['/mcp/capabilities', '/acp/capabilities'])(
    'of %s equal the entries of the registry',
    async (path) => {
      const { actions, agents, envelope_versions } = await get<Capabilities>(path);
      expect(envelope_versions).toEqual(['1.0']);
      expect(actions.map(nameOf).sort()).toEqual(specs().map(nameOf).sort());
      for (const spec of specs()) {
        const { schemas, result_schema: _, ...rest } = spec;
        const shown = actions.find((one) => nameOf(one) === nameOf(spec));
        expect(shown).toMatchObject(rest);
        expect(Object.keys(shown!.schemas)).toEqual(Object.keys(schemas));
        for (const [version, url] of Object.entries(shown!.schemas))
          expect(await get(url)).toEqual(schemas[version]);
      }
      expect(agents.map(({ agent_id, status }) => [agent_id, status])).toEqual(
        rows.map(({ agent_id, status }) => [agent_id, status]),
      );
      const listed = await get<{ agents: readonly ListedAgent[] }>('/v1/agents');
      expect(listed.agents.map(({ actions: offered }) => offered.map(nameOf))).toEqual(
        rows.map(({ actions: offered }) => offered.map(nameOf)),
      );
    },
  );

  it('name the transports that are served, and no others', async () => {
    expect((await get<Capabilities>('/mcp/capabilities')).transports).toEqual(['http']);
  });

  it('explain which ACP is meant, and its successor', async () => {
    const text = JSON.stringify(await get('/acp/capabilities'));
    expect(text).toMatch(/Agent Communication Protocol.*merged into A2A.*a2a-protocol\.org/);
  });

  it.each(['/mcp/capabilities', '/acp/capabilities', '/v1/agents', '/v1/functions'])(
    'of %s require a token',
    async (path) => {
      const response = await fetch(`${origin}${path}`);
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ error: { code: 'UNAUTHORIZED' } });
    },
  );

  it('refer to existing schemas', async () => {
    const response = await fetch(`${origin}/v1/schemas/no/such_thing/1.0.json`, {
      headers: { authorization },
    });
    expect(response.status).toBe(404);
  });
});

describe('function calling', () => {
  it('offers all actions except sensitive ones, with JSON Schema parameters', async () => {
    const { tools } = await get<{ tools: readonly FunctionDefinition[] }>('/v1/functions');
    expect(tools).toHaveLength(specs().filter(({ sensitive }) => !sensitive).length);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const { function: one } of tools) {
      expect(one.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(() => ajv.compile(one.parameters)).not.toThrow();
    }
  });

  it('executes each call once, and answers with tool messages in order', async () => {
    const call = (id: string, name: string, fields: object) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(fields) },
    });
    const id = randomUUID();
    const { version: _, ...head } = {
      ...newHead(),
      principal: { sub: 'operator', roles: ['operator'] },
      idempotency_key: id,
    };
    const post = async (tool_calls: readonly object[]) => {
      const response = await fetch(`${origin}/v1/function-calls`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ tool_calls, head }),
      });
      return { status: response.status, body: (await response.json()) as unknown };
    };
    const calls = [
      call('a', 'agent_data__update_document-v1', { document_id: id, content: 'one' }),
      call('b', 'agent_data__no_such-v1', {}),
      call('c', 'agent_data__read_document-v1', { document_id: 7 }),
    ];
    const first = await post(calls);
    expect(first).toMatchObject({ status: 200 });
    const { messages } = first.body as { messages: readonly ToolMessage[] };
    expect(messages.map(({ tool_call_id }) => tool_call_id)).toEqual(['a', 'b', 'c']);
    const contents = messages.map(({ content }) => JSON.parse(content) as unknown);
    expect(contents).toMatchObject([
      { state: 'SUCCEEDED', result: { document_id: id } },
      { error: { code: 'NOT_FOUND' } },
      { error: { code: 'INVALID_ARGUMENT' } },
    ]);
    const again = await post(calls);
    expect((again.body as { messages: readonly ToolMessage[] }).messages[0]).toEqual(messages[0]);
    expect((await post([])).status).toBe(400);
    expect((await post([calls[0]!, calls[0]!])).status).toBe(400);
  });
});

describe('troupe agents list', () => {
  const agents = (...args: string[]) =>
    runProgram([
      'agents',
      'list',
      ...args,
      '--url',
      origin.replace('http', 'ws'),
      '--token',
      TOKEN,
    ]);

  it('shows the registered agents, and whether they are alive', async () => {
    const { code, stdout } = await agents();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^AGENT +VERSION +STATUS +LAST SEEN +WHERE +ACTIONS\n/);
    expect(stdout).toMatch(/registry +\S+ +live .* this cell +registry\.\w+ 1\.0\.0\n/);
    const json = JSON.parse((await agents('--json')).stdout) as { agents: ListedAgent[] };
    expect(json.agents.map(({ agent_id }) => agent_id)).toEqual(
      rows.map(({ agent_id }) => agent_id),
    );
    expect((await agents('--status', 'gone')).stdout).toBe('no registered agents\n');
  });
});
