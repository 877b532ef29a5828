/** `a2a_send` and `a2a_agents`, through the actor of remote calls on a running system. */
import { describe, expect, it } from 'vitest';
import { shippedActors } from '../../../actors/index.ts';
import type { RemoteAgents } from '../../../agent/agent2agent/directory.ts';
import { createA2aTools } from '../../../agent/tools/a2a/a2a-tools.ts';
import { createToolRegistry } from '../../../agent/tools/registry.ts';
import { createSecretMask } from '../../../agent/tools/secret-mask.ts';
import { remoteAgentCaller } from '../../../installation/remote-agents.ts';
import { type RemoteCallRow, REMOTE_CALLS_INDEX } from '../../../protocols/remote-call.ts';
import type { RemoteAgentConfig } from '../../../runtime/config/index.ts';
import { eventually } from '../../runtime/eventually.ts';
import { openWorld } from '../../runtime/system/world.ts';
import { type A2aAgentOptions, startA2aAgent } from '../../servers/a2a-agent.ts';
import { cell, remoteAgent } from '../agent2agent/remote-agent.ts';
import { toolContext } from './tool-context.ts';
import { DEDUPLICATION_EXTENSION } from '../../../protocols/agent2agent.ts';

/** A worker whose agents may delegate to one agent outside. */
async function worker(options: A2aAgentOptions = {}, more: Parameters<typeof remoteAgent>[1] = {}) {
  const agent = await startA2aAgent(options);
  const agents: RemoteAgents = cell().process(remoteAgent(agent.url, more));
  const services = { remote: { a2a: remoteAgentCaller(agents, new Promise(() => {})) } };
  const actors = shippedActors().filter(({ type }) => type === 'remote-call');
  const world = await openWorld({ actors, services, shards: 1 });
  const tools = createToolRegistry(createA2aTools(agents));
  const stop = new AbortController();
  const call = (args: object, key = 'key-1', name = 'a2a_send') =>
    tools.run(
      { name, args },
      toolContext({
        idempotencyKey: key,
        signal: stop.signal,
        secrets: createSecretMask(['very-secret-value']),
        system: {
          ask: (to, event, { timeoutMs = 5_000, ...sending } = {}) =>
            world.ask(to, event, { timeoutMs, ...sending }),
          index: () => Promise.resolve(world.system.index),
          transcript: () => {
            throw new Error('no transcript');
          },
        },
      }),
    );
  const rows = () =>
    world.system.index.list<RemoteCallRow>(REMOTE_CALLS_INDEX, 'default').map(({ value }) => value);
  return { agent, world, tools, call, stop, rows };
}

describe('a2a_send', () => {
  it('returns the result of a task, and the same for a repeat, of one message', async () => {
    const { agent, call, rows } = await worker();
    const args = { agent: 'weather', message: 'work' };
    const first = call(args);
    await eventually(() => expect(rows()).toMatchObject([{ state: 'running', server: 'weather' }]));
    const second = call(args);
    agent.finish('sunny');
    expect((await first).text).toContain('sunny');
    expect(await second).toEqual(await first);
    expect(agent.received).toHaveLength(1);
    expect(rows()).toMatchObject([{ kind: 'a2a', name: 'send', state: 'done', class: 'once' }]);
  });

  it('is of class keyed when the card says that the agent deduplicates', async () => {
    const extensions = [
      { uri: DEDUPLICATION_EXTENSION, description: '', required: false, params: undefined },
    ];
    const { call, rows } = await worker({ card: { capabilities: { extensions } } });
    await call({ agent: 'weather', message: 'say a' });
    expect(rows()).toMatchObject([{ class: 'keyed', state: 'done' }]);
  });

  it('asks the agent to end its task when the call is aborted', async () => {
    const { agent, call, stop, rows } = await worker();
    const aborted = call({ agent: 'weather', message: 'work' });
    await eventually(() => expect(rows()).toMatchObject([{ state: 'running' }]));
    stop.abort();
    await expect(aborted).rejects.toMatchObject({ code: 'CANCELLED' });
    await eventually(() => expect(agent.cancelled).toHaveLength(1));
    await eventually(() => expect(rows()).toMatchObject([{ state: 'cancelled' }]));
  });

  it('waits for an agent that is away for a moment, and follows the same task', async () => {
    const { agent, call, rows } = await worker();
    const result = call({ agent: 'weather', message: 'work' });
    await eventually(() => expect(rows()).toMatchObject([{ state: 'running' }]));
    await agent.close();
    await eventually(() => expect(rows()[0]?.error?.message).toMatch(/cannot be reached/));
    const back = await startA2aAgent({ port: agent.port, store: agent.store });
    agent.finish('sunny');
    expect((await result).text).toContain('sunny');
    expect(back.received).toEqual([]);
  });

  it('fails with a reason that the model can act on', async () => {
    const { call, agent } = await worker();
    expect(await call({ agent: 'unknown', message: 'x' })).toMatchObject({ isError: true });
    const empty = await call({ agent: 'weather' });
    expect(empty.text).toBe('Send a message, data, or both.');
    const secret = await call({ agent: 'weather', message: 'my very-secret-value' });
    expect(secret.text).toContain('contains a secret of this installation');
    const data = await call({ agent: 'weather', data: { a: 'x'.repeat(70_000) } });
    expect(data.text).toContain('at most 65536 are sent');
    expect(agent.received).toEqual([]);
    const late = await call({ agent: 'weather', message: 'work', timeoutSeconds: 1 });
    expect(late).toMatchObject({ isError: true, text: expect.stringContaining('DEADLINE') });
    await eventually(() => expect(agent.cancelled).toHaveLength(1));
  });

  it('names the agents in its description, cleaned and limited, and asks for approval', () => {
    const about = `Weather\n- x\u001b[2J\u202e: ${'y'.repeat(20_000)}`;
    const agents = cell().process(remoteAgent('https://w.example', { about }));
    const [send] = createA2aTools(agents);
    expect(send!.description).toContain('## weather\nWeather\n- x [2J : yyy');
    expect(send!.description.length).toBeLessThan(9_000);
    expect(send!.question!({ agent: 'weather', message: 'hello' })).toEqual({
      scope: 'outside',
      command: 'a2a_send weather',
      detail: 'to the A2A agent weather at https://w.example: {"message":"hello"}',
    });
  });

  it('asks for each message, or for none, as configured', () => {
    const questionOf = (approval: RemoteAgentConfig['approval']) => {
      const [send] = createA2aTools(cell().process(remoteAgent('https://w.example', { approval })));
      return send!.question!({ agent: 'weather', message: 'hello' });
    };
    expect(questionOf('always')).toMatchObject({ scope: 'each-call' });
    expect(questionOf('never')).toBeUndefined();
  });
});

describe('a2a_agents', () => {
  it('reads the card of an agent', async () => {
    const { call, agent } = await worker();
    const { text } = await call({ agent: 'weather' }, 'key-1', 'a2a_agents');
    expect(text).toMatch(/from outside[^]*not signed[^]*- Forecast: Weather of a city \[sky\]/);
    await agent.close();
    const refused = cell().process(remoteAgent(agent.url, { allowPrivate: false }));
    const [, read] = createA2aTools(refused);
    const result = await read!.run({ agent: 'weather' }, toolContext());
    expect(result).toMatchObject({ isError: true, text: expect.stringContaining('allowPrivate') });
  });
});
