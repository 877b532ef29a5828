import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import type { ModelMessage, ToolSpec } from '../../../agent/models/model.ts';
import { createOfflineProvider } from '../../../agent/models/offline/offline.ts';
import { replyTo, tokensOf } from '../../../agent/models/offline/reply.ts';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { ManualClock, until } from './manual-clock.ts';
import { calculateSpec, hearAll, options, request } from './provider-contract.ts';

const clockSpec: ToolSpec = {
  name: 'clock',
  description: 'Tells the time.',
  parameters: { type: 'object', properties: { timeZone: { type: 'string' } } },
};
const tools = [calculateSpec, clockSpec];

/**
 * The answer to the last of these messages, with the offline model's answers to the others in
 * between.
 */
const answerTo = (...said: string[]): string => {
  const messages: ModelMessage[] = [];
  let answer = '';
  for (const text of said) {
    messages.push({ role: 'user', text });
    answer = replyTo(request({ tools: [], messages })).tokens.join('');
    messages.push({ role: 'assistant', text: answer });
  }
  return answer;
};

const callsFor = (text: string) => {
  const { calls } = replyTo(request({ tools, messages: [{ role: 'user', text }] }));
  return calls.map(({ name, args }) => ({ name, args }));
};

describe('the offline model’s texts', () => {
  it('explain what it is and how to get a real model, in the language of the question', () => {
    const asked = ['who are you?', 'bạn là ai?', '你是谁？'];
    for (const question of asked) {
      expect(answerTo(question)).toContain('troupe-offline');
      expect(answerTo(question)).toMatch(/ANTHROPIC_API_KEY.*OPENAI_API_KEY/s);
    }
    for (const question of ['how do I use a real model?', 'bạn là gì?', '怎么使用真正的模型？'])
      expect(answerTo(question)).toContain('troupe doctor');
    expect(answerTo('who are you?')).toContain('offline model');
    expect(answerTo('bạn là ai?')).toContain('mô hình ngoại tuyến');
    expect(answerTo('你是谁？')).toContain('离线模型');
  });

  it('greet in English, Vietnamese and Chinese', () => {
    expect(answerTo('Hello!')).toMatch(/^Hello!/);
    expect(answerTo('Xin chào')).toMatch(/^Xin chào!/);
    expect(answerTo('你好')).toMatch(/^你好！/);
  });

  it('refer to earlier messages of the conversation', () => {
    expect(answerTo('The sky is green.', 'hello', 'What did I say first?')).toContain(
      'The sky is green.',
    );
    expect(answerTo('one', 'two', 'what did I just say?')).toContain('"two"');
    expect(answerTo('one', 'two', 'how many messages did I send?')).toContain('3 messages');
    expect(answerTo('my name is Mai', 'hello', 'what is my name?')).toContain('Mai');
    expect(answerTo('what is my name?')).toContain('not know your name');
    expect(answerTo('Trời hôm nay đẹp quá', 'tôi nói gì đầu tiên?')).toContain(
      'Trời hôm nay đẹp quá',
    );
    expect(answerTo('天空是绿色的', '我第一句说了什么？')).toContain('天空是绿色的');
    expect(answerTo('repeat hello there')).toBe('hello there');
  });

  it('state that it cannot think about anything else', () => {
    expect(answerTo('Explain monads')).toMatch(/2 words.*offline model/s);
  });

  it('are the same for the same request', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (system, text) => {
        const asked = request({ system, tools, messages: [{ role: 'user', text }] });
        expect(replyTo(structuredClone(asked))).toEqual(replyTo(asked));
      }),
    );
  });

  it('are split into tokens whose concatenation is the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(tokensOf(text).join('')).toBe(text);
      }),
    );
    expect(tokensOf('extraordinary 你好世界')).toEqual(['extrao', 'rdinar', 'y', ' 你好', '世界']);
  });
});

describe('the offline model’s tool calls', () => {
  it('are those that a message requests', () => {
    expect(callsFor('call calculate {"expression": "{\\"}(1+1)"} please')).toEqual([
      { name: 'calculate', args: { expression: '{"}(1+1)' } },
    ]);
    expect(callsFor('use the tool calculate 2+2')).toEqual([
      { name: 'calculate', args: { expression: '2+2' } },
    ]);
    expect(callsFor('dùng công cụ calculate 2+2')).toEqual([
      { name: 'calculate', args: { expression: '2+2' } },
    ]);
    expect(callsFor('使用工具 calculate 2+2')).toEqual([
      { name: 'calculate', args: { expression: '2+2' } },
    ]);
    expect(callsFor('What time is it?')).toEqual([{ name: 'clock', args: {} }]);
    expect(callsFor('what is 12 * (3 + 4)?')).toEqual([
      { name: 'calculate', args: { expression: '12 * (3 + 4)' } },
    ]);
    expect(callsFor('please call me tomorrow')).toEqual([]);
  });

  it('list the available tools when a message requests an unknown one', () => {
    const { tokens, calls } = replyTo(
      request({ tools, messages: [{ role: 'user', text: 'call fly {}' }] }),
    );
    expect(calls).toEqual([]);
    expect(tokens.join('')).toMatch(/no tool named fly.*calculate, clock/);
  });

  it('run in parallel between two "then", and round by round', () => {
    const messages: ModelMessage[] = [
      {
        role: 'user',
        text: 'call clock {} and call calculate {"expression":"1"} then call clock {"timeZone":"UTC"}',
      },
    ];
    const first = replyTo(request({ tools, messages }));
    expect(first.calls.map(({ name }) => name)).toEqual(['clock', 'calculate']);
    expect(first.stop).toBe('tools');
    const step = (calls: typeof first.calls) => {
      messages.push({ role: 'assistant', text: '', calls });
      for (const { id, name } of calls) {
        messages.push({
          role: 'tool',
          callId: id,
          name,
          result: `${name} result`,
          isError: name === 'calculate',
        });
      }
      return replyTo(request({ tools, messages }));
    };
    const second = step(first.calls);
    expect(second.calls).toMatchObject([{ name: 'clock', args: { timeZone: 'UTC' } }]);
    const last = step(second.calls);
    expect(last.stop).toBe('end');
    expect(last.tokens.join('')).toContain('The tool clock answered: clock result');
    expect(last.tokens.join('')).toContain('The tool calculate failed: calculate result');
    const ids = [...first.calls, ...second.calls].map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
  });
});

describe('the offline model’s directives', () => {
  const say = (text: string) => request({ messages: [{ role: 'user', text }] });

  it('set the exact number of words', () => {
    for (const count of [1, 12, 200]) {
      const text = replyTo(say(`[[words:${count}]]`)).tokens.join('');
      expect(text.split(' ')).toHaveLength(count);
    }
  });

  it('set the pace, measured by the given clock', async () => {
    const clock = new ManualClock();
    const provider = createOfflineProvider({ clock, tokensPerSecond: 100 });
    let events = 0;
    const running = hearAll(provider.stream(say('repeat a b c d'), options()), () => events++);
    for (let token = 1; token <= 4; token++) {
      await until(() => clock.pending === 2, 'the pace and the idle limit');
      clock.advance(9);
      expect(events).toBe(token - 1);
      clock.advance(1);
      await until(() => events >= token, `token ${token}`);
    }
    expect((await running).text).toBe('a b c d');
  });

  it('set the error code and the wait time of a failure', async () => {
    const provider = createOfflineProvider({ clock: systemClock, tokensPerSecond: 0 });
    const heard = await hearAll(
      provider.stream(say('[[fail:RATE_LIMIT_EXCEEDED:1500]]'), options()),
    );
    expect(heard.error).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', retryAfterMs: 1_500 });
    const unknown = await hearAll(provider.stream(say('[[fail:NO_SUCH]]'), options()));
    expect(unknown.error?.code).toBe('INVALID_ARGUMENT');
  });

  it('allow other work during a long answer without a pace', async () => {
    const provider = createOfflineProvider({ clock: systemClock, tokensPerSecond: 0 });
    let turns = 0;
    let running = true;
    const count = () => {
      turns++;
      if (running) setImmediate(count);
    };
    setImmediate(count);
    await hearAll(provider.stream(say('[[words:5000]]'), options()));
    running = false;
    expect(turns).toBeGreaterThan(10);
  });
});
