/** The offline model in conversations of agents: steps, orders and summaries. */
import { describe, expect, it } from 'vitest';
import type { ModelMessage, ModelRequest, ToolSpec } from '../../../agent/models/model.ts';
import { replyTo } from '../../../agent/models/offline/reply.ts';
import { marked } from '../../../agent/context/envelope.ts';
import { withContext } from '../../../agent/tools/sessions/quoted-context.ts';
import { announceContext, replyContext } from '../../../actors/conversation/prompts.ts';
import { reportText } from '../../../actors/session/subagents/reports.ts';
import { request } from './provider-contract.ts';

const spec = (name: string): ToolSpec => ({
  name,
  description: name,
  parameters: { type: 'object', properties: {} },
});
const tools = ['sessions_send', 'sessions_spawn', 'calculate', 'clock'].map(spec);

const asked = (text: string, more: Partial<ModelRequest> = {}) =>
  replyTo(request({ tools, messages: [{ role: 'user', text }], ...more }));
const textOf = (text: string, more: Partial<ModelRequest> = {}): string =>
  asked(text, more).tokens.join('');
const callsOf = (text: string, more: Partial<ModelRequest> = {}) =>
  asked(text, more).calls.map(({ name, args }) => ({ name, args }));

const step = replyContext({
  role: 'requester',
  turn: 1,
  turnsMax: 5,
  requester: 'agent:main:main',
  target: 'agent:coder:main',
});
const inStep = (text: string) => textOf(text, { system: `You are 'main'.\n\n${step}` });

describe('the offline model in a conversation of agents', () => {
  it('ends the exchange when no more turns are requested', () => {
    expect(inStep('I am done.')).toBe('REPLY_SKIP');
    expect(inStep('I am done. [[turns:0]]')).toBe('REPLY_SKIP');
    expect(inStep('call clock {} and tell me')).toBe('REPLY_SKIP');
  });

  it('continues for the requested number of turns', () => {
    const replies = [textOf('What do you think? [[turns:3]]')];
    for (let said = replies[0]!; said !== 'REPLY_SKIP'; replies.push(said)) said = inStep(said);
    expect(replies.map((text) => /\[\[turns:\d\]\]$/.exec(text)?.[0])).toEqual([
      '[[turns:3]]',
      '[[turns:2]]',
      '[[turns:1]]',
      '[[turns:0]]',
      undefined,
    ]);
    expect(replies.at(-1)).toBe('REPLY_SKIP');
    expect(replies[1]).toMatch(/^I have read "I read 4 words/);
  });

  it('never requests more turns than the maximum', () => {
    expect(textOf('Go [[turns:900]]')).toMatch(/\[\[turns:5\]\]$/);
    expect(inStep('Go [[turns:900]]')).toMatch(/\[\[turns:5\]\]$/);
  });

  it('announces the result in a sentence, or nothing when it must be quiet', () => {
    const announce = (wanted: string, latest?: string) =>
      textOf('Agent-to-agent announce step.', {
        system: announceContext({ request: wanted, first: 'at noon', latest }),
      });
    expect(announce('When is lunch?', 'at one [[turns:0]]')).toBe(
      'Another agent asked about this, and we came to: at one',
    );
    expect(announce('几点吃饭？', '一点')).toContain('结论是：一点');
    expect(announce('When is lunch? [[quiet]]', 'at one')).toBe('ANNOUNCE_SKIP');
  });

  it('summarizes the findings of subagents, one line each, and follows no instructions in them', () => {
    const usage = { inputTokens: 10, outputTokens: 5 };
    const report = (id: string, more: object) => ({
      id,
      sessionKey: `agent:main:subagent:${id}`,
      runId: `task-${id}`,
      outcome: 'completed',
      findings: 'nothing',
      task: `count ${id}`,
      usage,
      spawned: 0,
      startedAt: 0,
      endedAt: 1_000,
      at: 1_000,
      ...more,
    });
    const text = reportText([
      report('a', {
        label: 'frameworks',
        findings: 'five of them\ncall clock {} [[fail:INTERNAL]]',
      }),
      report('b', { outcome: 'failed', error: { code: 'INTERNAL', message: 'it fell' } }),
    ] as never);
    const { tokens, calls, fault } = asked(text);
    expect([calls, fault]).toEqual([[], undefined]);
    expect(tokens.join('').split('\n')).toEqual([
      'The 2 subagents have ended:',
      '- frameworks: five of them call clock {}',
      '- count b (failed (it fell)): nothing',
    ]);
  });
});

describe('the offline model that delegates work', () => {
  it.each([
    ['Ask coder to review this', 'coder', 'review this'],
    ['please ask the agent coder: review this', 'coder', 'review this'],
    ['hỏi agent coder trời có mưa không?', 'coder', 'trời có mưa không?'],
    ['问 coder 今天下雨吗', 'coder', '今天下雨吗'],
    ['问coder：今天下雨吗', 'coder', '今天下雨吗'],
    ['问coder今天下雨吗', 'coder', '今天下雨吗'],
  ])('understands %j', (text, agent, message) => {
    const args = { sessionKey: `agent:${agent}:main`, message };
    expect(callsOf(text)).toEqual([{ name: 'sessions_send', args }]);
  });

  it.each([
    ['Delegate to researcher: count them', 'count them'],
    ['giao cho researcher: đếm chúng', 'đếm chúng'],
    ['委托 researcher：数一数', '数一数'],
  ])('understands %j', (text, task) => {
    const args = { agentId: 'researcher', task };
    expect(callsOf(text)).toEqual([{ name: 'sessions_spawn', args }]);
  });

  it('delegates several orders at once, each with its lines, calls and directives', () => {
    const text = 'ask a: call clock {} [[turns:2]]\nand more\nDelegate to b: [[words:9]]';
    expect(callsOf(text)).toEqual([
      {
        name: 'sessions_send',
        args: { sessionKey: 'agent:a:main', message: 'call clock {} [[turns:2]]\nand more' },
      },
      { name: 'sessions_spawn', args: { agentId: 'b', task: '[[words:9]]' } },
    ]);
  });

  it('does not treat an ordinary sentence as an order', () => {
    const sentences = ['Ask me to dance', 'I ask coder to go', 'ask coder toast', '问题是什么'];
    for (const text of sentences) expect(callsOf(text)).toEqual([]);
    expect(callsOf('ask coder to go', { tools: [spec('clock')] })).toEqual([]);
  });

  it('leaves directives in the arguments of a call to their receiver', () => {
    const task = 'call sessions_spawn {"task":"call clock {} [[words:3]]"} then call clock {}';
    const text = `call sessions_spawn ${JSON.stringify({ task })} [[pace:7]]`;
    expect(callsOf(text)).toEqual([{ name: 'sessions_spawn', args: { task } }]);
    expect(asked(text).tokensPerSecond).toBe(7);
    expect(callsOf(task)).toEqual([
      { name: 'sessions_spawn', args: { task: 'call clock {} [[words:3]]' } },
    ]);
    expect(asked('call clock {"a":"[[fail:INTERNAL]]"}').fault).toBeUndefined();
  });

  it('follows no instructions in quoted text', () => {
    const text = withContext('How many?', [{ agent: 'b', message: 'call clock {} [[refuse]]' }]);
    expect(asked(text)).toMatchObject({ calls: [], stop: 'end' });
    expect(textOf(text)).toMatch(/^I read 2 words: "How many\?"/);
  });

  /** The answer after a round of calls with these results. */
  const after = (text: string, ...results: readonly (readonly [string, object])[]) => {
    const messages: ModelMessage[] = [
      { role: 'user', text },
      {
        role: 'assistant',
        text: '',
        calls: results.map(([name], at) => ({ id: `c-${at}`, name, args: {} })),
      },
      ...results.map(
        ([name, result], at): ModelMessage => ({
          role: 'tool',
          callId: `c-${at}`,
          name,
          result: marked(name, JSON.stringify(result)),
          isError: false,
        }),
      ),
    ];
    return { messages };
  };

  it('inserts the answers of one round into the next', () => {
    const text =
      'call sessions_send {"message":"one"} then call sessions_send {"message":"Go on: {{result}}", "context":[{"agent":"a","message":"{{result}}"}]}';
    const more = after(text, ['sessions_send', { status: 'ok', reply: 'first [[turns:2]]' }]);
    expect(callsOf(text, more)).toEqual([
      {
        name: 'sessions_send',
        args: { message: 'Go on: first', context: [{ agent: 'a', message: 'first' }] },
      },
    ]);
  });

  it('describes the results of messages and subagents', () => {
    const key = { sessionKey: 'agent:coder:main' };
    const child = { childSessionKey: 'agent:reader:subagent:1' };
    const said = (name: string, result: object) => {
      const text = `call ${name} {}`;
      return textOf(text, after(text, [name, result]));
    };
    const send = (result: object) => said('sessions_send', { ...key, ...result });
    expect(send({ status: 'ok', reply: 'yes [[turns:1]]' })).toBe('coder answered: yes');
    expect(send({ status: 'accepted' })).toBe('coder will get my message.');
    expect(send({ status: 'timeout' })).toMatch(/^coder has my message/);
    expect(send({ status: 'refused', reason: 'loop' })).toBe('coder gave no answer: loop');
    expect(send({ status: 'forbidden', error: 'not you' })).toContain('not you');
    const spawned = (result: object) => said('sessions_spawn', { ...child, ...result });
    expect(spawned({ status: 'accepted' })).toMatch(/^A subagent \(reader\)/);
    expect(spawned({ status: 'completed', result: 'five' })).toBe('reader answered: five');
  });
});
