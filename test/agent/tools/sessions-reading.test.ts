/**
 * The tools that read sessions, in a whole installation: messages create real sessions, and a model
 * calls the tools and receives their results.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { createReadingTools } from '../../../agent/tools/sessions/session-reading-tools.ts';
import type { Tool, ToolContext } from '../../../agent/tools/tool.ts';
import { sessionAddress } from '../../../actors/index.ts';
import { type Installation, install, MODELS, providerOf } from '../../agent-runs/installation.ts';
import { startModelServer } from '../../servers/model-server.ts';
import type { Plan } from '../../servers/scripted-server.ts';
import { NO_TALK, OPEN_TALK } from '../../servers/talk-rules.ts';
import { toolContext } from './context.ts';

const MAIN = 'agent:main:main';
const WORK = 'agent:work:main';
const AGENTS = [{ id: 'main', default: true }, { id: 'work' }];
const tools = new Map(
  createReadingTools({
    windowOf: () => 200_000,
    settingsOf: () => undefined,
    fallbackModel: 'offline/x',
  }).map((tool): [string, Tool] => [tool.name, tool]),
);

/** Calls a tool as an agent's run would. */
const calling =
  ({ system }: Installation, changes: Partial<ToolContext> = {}) =>
  async (name: string, args: object) => {
    const { text } = await tools.get(name)!.run(
      args,
      toolContext({
        now: Date.now(),
        system: {
          ask: () => Promise.reject(new Error('reading tools ask no actor')),
          index: async () => system.index,
          transcript: (of) => ({
            read: (options) => system.transcripts.read(of, options),
            last: () => system.transcripts.last(of),
          }),
        },
        talk: NO_TALK,
        ...changes,
      }),
    );
    return name === 'session_status' ? text : (JSON.parse(text) as unknown);
  };

describe('sessions created by messages', { timeout: 60_000 }, () => {
  it('can be listed and read, including a label that a user set', async () => {
    const troupe = await install({ config: { agents: { agents: AGENTS } } });
    await troupe.run(MAIN, 'what is 2 + 2 × 10?', { channel: 'webchat' });
    await troupe.run(WORK, 'good morning');
    const principal = { sub: 'ada', roles: ['operator'] };
    const set = { type: 'session.set', label: 'Office' };
    await troupe.system.ask(sessionAddress('default', WORK), set, { principal, timeoutMs: 20_000 });
    const call = calling(troupe);

    expect(await call('sessions_list', { includeTranscript: true })).toEqual({
      count: 1,
      sessions: [
        expect.objectContaining({
          sessionKey: MAIN,
          kind: 'main',
          channel: 'webchat',
          status: 'idle',
          displayName: 'main',
          lastMessage: expect.stringContaining('calculate'),
          contextTokens: expect.any(Number),
          messages: [
            expect.objectContaining({ role: 'user', content: 'what is 2 + 2 × 10?' }),
            expect.objectContaining({ role: 'assistant', content: expect.any(String) }),
          ],
        }),
      ],
    });
    expect(await call('sessions_list', { filter: 'idle' })).toEqual({ count: 0, sessions: [] });

    const open = calling(troupe, { talk: OPEN_TALK });
    expect(await open('sessions_list', { label: 'Off' })).toMatchObject({
      count: 1,
      sessions: [{ sessionKey: WORK, label: 'Office', displayName: 'Office' }],
    });
    expect(await open('sessions_history', { label: 'Office' })).toMatchObject({
      status: 'forbidden',
      rule: 'agents.agents[work].a2a.historyAccess',
    });
    const own = calling(troupe, { agentId: 'work', sessionKey: WORK });
    const history = await own('sessions_history', { sessionKey: WORK, format: 'messages_only' });
    expect(history).toMatchObject({
      messages: [{ role: 'user', content: 'good morning' }, { role: 'assistant' }],
    });
    const card = await own('session_status', {});
    expect(card).toContain(`Session ${WORK} (Office), agent work`);
    expect(card).toContain('Run: none is active');
    expect(card).toContain('of 200,000 tokens used');
    expect(card).toContain('Agent work, active');
  });

  it('are visible to a model that calls the tools in its own run', async () => {
    const server = await startModelServer({ api: 'anthropic-messages' });
    onTestFinished(() => server.close());
    const provider = providerOf('anthropic-messages', server);
    const agents = {
      defaults: { model: `p/${MODELS['anthropic-messages']}` },
      agents: AGENTS,
    };
    const troupe = await install({ config: { models: { providers: { p: provider } }, agents } });
    const says = (text: string): Plan => ({ kind: 'answer', deltas: [text] });
    const wants = (n: number, name: string, args: object): Plan => ({
      kind: 'answer',
      calls: [{ id: `call_${n}`, name, args }],
    });
    server.script(says('Noted.'));
    await troupe.run('agent:main:dm:alice', 'the code is 4711');
    server.script(
      wants(1, 'sessions_list', { kinds: ['other'] }),
      wants(2, 'sessions_history', { sessionKey: 'agent:main:dm:alice' }),
      wants(3, 'session_status', {}),
      wants(4, 'sessions_history', { sessionKey: WORK }),
      says('I have seen it.'),
    );
    const { results } = await troupe.run(MAIN, 'what did Alice say?');
    const [list, history, status, closed] = results.map(({ result }) => result);
    expect(JSON.parse(list!)).toMatchObject({ sessions: [{ sessionKey: 'agent:main:dm:alice' }] });
    expect(JSON.parse(history!)).toMatchObject({
      messages: [{ content: 'the code is 4711' }, { content: 'Noted.' }],
    });
    expect(status).toContain('runs session_status');
    expect(status).toContain('of 128,000 tokens used');
    expect(JSON.parse(closed!)).toMatchObject({
      status: 'forbidden',
      rule: 'tools.agentToAgent.enabled',
    });
  });
});
