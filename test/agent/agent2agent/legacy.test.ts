/** Calls of an agent of A2A 0.3: the gateway of troupe that serves that version. */
import { describe, expect, test } from 'vitest';
import { follow, start } from '../../../agent/agent2agent/remote-caller.ts';
import type { RemoteCall } from '../../../protocols/remote-call.ts';
import { Secret } from '../../../runtime/config/index.ts';
import { serveAgent2Agent } from '../../channels/agent2agent/gateway.ts';
import { startA2aAgent } from '../../servers/a2a-agent.ts';
import { cell, remoteAgent } from './remote-agent.ts';

const OLD_CARD = (url: string) => ({
  protocolVersion: '0.3.0',
  name: 'Old',
  description: 'An agent of version 0.3',
  version: '1',
  url,
  preferredTransport: 'JSONRPC',
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
});

/** Serves the card of 0.3 for a gateway that serves calls of 0.3. */
async function oldAgent() {
  const gateway = await serveAgent2Agent({ legacy: true });
  const { url } = await startA2aAgent({
    intercept: (request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(OLD_CARD(`${gateway.url}/a2a/main`)));
      return request.method === 'GET';
    },
  });
  return { gateway, agent: { url, origins: [gateway.url], bearer: new Secret('alice') } };
}

const bucket = Promise.resolve({ put: () => Promise.reject(new Error('no file is expected')) });
const request = { tenant: 'default', signal: new AbortController().signal };
const call: RemoteCall = {
  kind: 'a2a',
  server: 'weather',
  name: 'send',
  input: { message: 'xin chào' },
  class: 'once',
  timeoutMs: 20_000,
  caller: { agentId: 'main', sessionKey: 'agent:main:main', runId: 'r', callId: 'c' },
};

test('an agent of 0.3 is called when its entry allows it', async () => {
  const { agent } = await oldAgent();
  const agents = cell().process(remoteAgent(agent.url, { ...agent, legacy: true }));
  const options = { agents, bucket };
  let step = await start(call, { ...request, idempotencyKey: 'key' }, options);
  while (step.kind === 'running') step = await follow(call, step.handle, request, options);
  expect(step.result.text).toContain('main heard xin chào');
});

test('an agent of 0.3 is refused otherwise', async () => {
  const { agent } = await oldAgent();
  const agents = cell().process(remoteAgent(agent.url, agent));
  await expect(agents.card('weather', request.signal)).rejects.toThrow(/Set legacy.* --legacy/);
});

describe('an answer of an agent of 0.3', () => {
  /** Sends a message to an agent that answers with these members. */
  async function answered(members: object) {
    const { url } = await startA2aAgent({
      intercept: ({ headers, method }, response, body) => {
        const base = `http://${headers.host}`;
        const answer = () => {
          const { id } = JSON.parse(body) as { id: unknown };
          return { jsonrpc: '2.0', id, ...members };
        };
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(method === 'GET' ? OLD_CARD(base) : answer()));
        return true;
      },
    });
    const agents = cell().process(remoteAgent(url, { legacy: true }));
    return start(call, { ...request, idempotencyKey: 'key' }, { agents, bucket });
  }
  const message = { kind: 'message', messageId: 'm', role: 'agent' };

  test.each([
    { result: null },
    { result: 5 },
    { result: { ...message, kind: undefined, parts: [] } },
    { result: { ...message, parts: null } },
    { result: { ...message, parts: 'x' } },
    { result: { ...message, parts: [null] } },
    { result: { kind: 'task', id: 't', contextId: 'c' } },
    { error: null },
  ])('that is malformed leaves the outcome unknown: %j', async (members) => {
    const unknown = answered(members);
    await expect(unknown).rejects.not.toHaveProperty('code');
    await expect(unknown).rejects.toThrow(/^the answer of the agent is malformed/);
    await expect(unknown).rejects.not.toThrow(/Cannot read|is not a function/);
  });

  test('that is an internal error leaves it unknown, one about the parameters does not', async () => {
    const unknown = answered({ error: { code: -32_603, message: 'oops' } });
    await expect(unknown).rejects.toThrow('the agent reported an error: oops');
    const refused = await answered({ error: { code: -32_602, message: 'no' } });
    expect(refused).toMatchObject({ kind: 'done', result: { isError: true } });
  });
});
