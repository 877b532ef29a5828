/** Calling hooks: their order, their input, their time limits, and failing open or closed. */
import { describe, expect, it } from 'vitest';
import { defined } from '../../../protocols/defined.ts';
import {
  createHooks,
  type HookFailure,
  LATE_MAX,
  REPORT_MS,
  SUSPENDED_MS,
} from '../../../agent/hooks/create-hooks.ts';
import type { HookModule } from '../../../agent/hooks/define-hooks.ts';
import { type HookHandlers, HOOKS } from '../../../agent/hooks/hooks.ts';
import type { ImagePart } from '../../../protocols/content.ts';
import type { Clock } from '../../../runtime/index.ts';

const about = { tenant: 'default', agentId: 'main', sessionKey: 'agent:main:main', runId: 'r1' };
const CALL = { name: 'exec', callId: 'c1', args: { command: 'ls' } };
const module = (name: string, hooks: HookHandlers, priority?: number): HookModule => ({
  name,
  hooks,
  ...defined({ priority }),
});
const never = () => new Promise<never>(() => {});

/** A clock that stops until a test advances it. */
class HandClock implements Clock {
  #now = 0;
  #timers: { at: number; call: () => void }[] = [];
  wallMs = () => this.#now;
  monotonicMs = () => this.#now;
  after = (delayMs: number, call: () => void) => {
    const timer = { at: this.#now + delayMs, call };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  };
  get timers(): number {
    return this.#timers.length;
  }
  pass(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { call } of due) call();
  }
}

const watched = (modules: readonly HookModule[]) => {
  const clock = new HandClock();
  const reported: HookFailure[] = [];
  let failures = 0;
  const hooks = createHooks({
    modules,
    clock,
    onFailure: () => failures++,
    report: (failure) => reported.push(failure),
  });
  return { hooks, clock, reported, failures: () => failures };
};

it('a message that a hook leaves empty is refused, unless it has an image', async () => {
  const { hooks } = watched([module('blank', { message_received: () => ({ text: ' ' }) })]);
  const received = (images: readonly ImagePart[]) =>
    hooks.run('message_received', { text: 'secret', channel: 'webchat', images }, about);
  expect(await received([])).toEqual({ refuse: 'a hook removed the text of the message' });
  expect(await received([{ mimeType: 'image/png', data: 'AA==' }])).toEqual({ text: ' ' });
});

describe('hooks', () => {
  it('return nothing when no hook changes anything', async () => {
    const hooks = createHooks();
    expect(hooks.names()).toEqual([]);
    expect(hooks.has('before_tool_call')).toBe(false);
    expect(await hooks.run('before_tool_call', CALL, about)).toBeUndefined();
    const event = { name: 'exec', callId: 'c1', result: 'text', isError: false };
    expect(hooks.persisted(event, about)).toBe('text');
  });

  it('run by priority, then in order of registration, each on the previous result', async () => {
    const seen: string[] = [];
    const adds = (letter: string) => ({
      message_sending: ({ text }: { text: string }) => {
        seen.push(text);
        return { text: text + letter };
      },
    });
    const { hooks } = watched([
      module('late', adds('d'), 5),
      module('first', adds('b')),
      module('second', adds('c')),
      module('early', adds('a'), -1),
    ]);
    expect(await hooks.run('message_sending', { text: '' }, about)).toEqual({ text: 'abcd' });
    expect(seen).toEqual(['', 'a', 'ab', 'abc']);
  });

  it('add their texts in order before the message', async () => {
    const { hooks } = watched([
      module('a', { before_agent_start: () => ({ prependContext: 'one' }) }),
      module('b', { before_agent_start: () => ({ system: 'other words' }) }),
      module('c', {
        before_agent_start: ({ system }) => ({ prependContext: `two of ${system}` }),
      }),
    ]);
    expect(await hooks.run('before_agent_start', { prompt: 'p', system: 's' }, about)).toEqual({
      prependContext: 'one\n\ntwo of other words',
      system: 'other words',
    });
  });

  it.each([
    ['before_tool_call', CALL, { block: 'no' }],
    ['message_received', { text: 'x', channel: 'webchat', images: [] }, { refuse: 'no' }],
    ['message_sending', { text: 'x' }, { cancel: true }],
  ] as const)('%s: a refusal skips the remaining hooks', async (name, event, result) => {
    let asked = 0;
    const { hooks } = watched([
      module('a', { [name]: () => result }),
      module('b', { [name]: () => void asked++ }),
    ]);
    expect(await hooks.run(name, event, about)).toEqual(result);
    expect(asked).toBe(0);
  });

  it('change only what they return, not the event they receive', async () => {
    const event = structuredClone(CALL);
    const { hooks } = watched([
      module('a', {
        before_tool_call: (given) => {
          (given.args as { command: string }).command = 'rm';
          return undefined;
        },
      }),
      module('b', { before_tool_call: ({ args }) => ({ args }) }),
    ]);
    expect(await hooks.run('before_tool_call', event, about)).toEqual({ args: CALL.args });
    expect(event).toEqual(CALL);
  });

  it('receive the session, the run and a signal', async () => {
    let given: unknown;
    const { hooks } = watched([module('a', { session_start: (_, who) => void (given = who) })]);
    await hooks.run('session_start', { sessionId: 's' }, about);
    expect(given).toMatchObject({ ...about, signal: { aborted: false } });
  });

  it('leave no timer after they return', async () => {
    const { hooks, clock } = watched([
      module('a', { message_sent: () => {}, agent_end: async () => {} }),
    ]);
    await hooks.run('message_sent', { text: '' }, about);
    expect(clock.timers).toBe(0);
  });
});

describe('a failing hook', () => {
  const broken = () => {
    throw new Error('broken');
  };

  it('is skipped and reported when it fails open', async () => {
    const { hooks, reported, failures } = watched([
      module('a', { message_received: broken }),
      module('b', { message_received: ({ text }) => ({ text: `${text}!` }) }),
    ]);
    const event = { text: 'x', channel: 'webchat', images: [] };
    expect(await hooks.run('message_received', event, about)).toEqual({ text: 'x!' });
    expect(failures()).toBe(1);
    expect(reported).toEqual([
      { module: 'a', hook: 'message_received', about, why: 'broken', unreported: 0 },
    ]);
  });

  it('refuses the operation when it fails closed, and the error names it', async () => {
    const { hooks } = watched([module('guard', { before_tool_call: broken })]);
    await expect(hooks.run('before_tool_call', CALL, about)).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: 'the hook before_tool_call of guard failed: broken',
    });
  });

  it.each([
    ['a misspelled key', { blocked: 'no' }],
    ['a reason that is no text', { block: true }],
    ['a text', 'no'],
    ['a list', []],
  ])('is one that returns an invalid result: %s', async (_, result) => {
    const { hooks } = watched([module('a', { before_tool_call: () => result as never })]);
    await expect(hooks.run('before_tool_call', CALL, about)).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining('its result') as string,
    });
  });

  it.each([undefined, null])('is not one that returns no result: %s', async (result) => {
    const { hooks, failures } = watched([
      module('a', { before_tool_call: async () => result as never }),
    ]);
    expect(await hooks.run('before_tool_call', CALL, about)).toBeUndefined();
    expect(failures()).toBe(0);
  });

  it('may return anything when its result is ignored', async () => {
    const { hooks, failures } = watched([module('a', { message_sent: () => 7 as never })]);
    expect(await hooks.run('message_sent', { text: '' }, about)).toBeUndefined();
    expect(failures()).toBe(0);
  });

  it('is counted each time, but reported only once per interval', async () => {
    const { hooks, clock, reported, failures } = watched([
      module('a', { message_sent: broken, session_start: broken }),
    ]);
    for (let n = 0; n < 5; n++) await hooks.run('message_sent', { text: '' }, about);
    await hooks.run('session_start', { sessionId: 's' }, about);
    clock.pass(REPORT_MS);
    await hooks.run('message_sent', { text: '' }, about);
    expect(failures()).toBe(7);
    expect(reported.map(({ hook, unreported }) => [hook, unreported])).toEqual([
      ['message_sent', 0],
      ['session_start', 0],
      ['message_sent', 4],
    ]);
  });
});

describe('a hook that exceeds its time limit', () => {
  it('is aborted by its signal and ignored afterwards', async () => {
    let signal: AbortSignal | undefined;
    let fail: (error: Error) => void = () => {};
    const { hooks, clock, reported } = watched([
      module('a', {
        message_received: (_, who) => {
          signal = who.signal;
          return new Promise((_resolve, reject) => (fail = reject));
        },
      }),
    ]);
    const event = { text: 'x', channel: 'webchat', images: [] };
    const running = hooks.run('message_received', event, about);
    clock.pass(HOOKS.message_received.timeoutMs);
    expect(await running).toBeUndefined();
    expect(signal?.aborted).toBe(true);
    expect(reported[0]?.why).toBe('it took longer than 5000 ms');
    fail(new Error('no subscriber listens'));
  });

  it('is suspended after repeated timeouts, and tried again later', async () => {
    let calls = 0;
    let hangs = true;
    const { hooks, clock, reported } = watched([
      module('a', {
        before_tool_call: () => {
          calls++;
          return hangs ? never() : { args: { command: 'pwd' } };
        },
      }),
    ]);
    for (let n = 0; n < LATE_MAX; n++) {
      const running = hooks.run('before_tool_call', CALL, about);
      clock.pass(HOOKS.before_tool_call.timeoutMs);
      await expect(running).rejects.toMatchObject({ code: 'FORBIDDEN' });
    }
    await expect(hooks.run('before_tool_call', CALL, about)).rejects.toThrow(
      `exceeded its time limit ${LATE_MAX} times in a row and is suspended for 60 s`,
    );
    expect(calls).toBe(LATE_MAX);
    hangs = false;
    clock.pass(SUSPENDED_MS);
    expect(await hooks.run('before_tool_call', CALL, about)).toEqual({ args: { command: 'pwd' } });
    expect(reported.length).toBeGreaterThan(0);
  });

  it('is suspended immediately when it is late again after a suspension', async () => {
    const { hooks, clock } = watched([module('a', { message_sent: never })]);
    const late = async () => {
      const running = hooks.run('message_sent', { text: '' }, about);
      clock.pass(HOOKS.message_sent.timeoutMs);
      await running;
    };
    for (let n = 0; n < LATE_MAX; n++) await late();
    clock.pass(SUSPENDED_MS);
    await late();
    expect(await hooks.run('message_sent', { text: '' }, about)).toBeUndefined();
    expect(clock.timers).toBe(0);
  });
});

describe('tool_result_persist', () => {
  const RESULT = { name: 'exec', callId: 'c1', result: 'secret 1234', isError: false };

  it('changes the result in order of the hooks', () => {
    const { hooks } = watched([
      module('a', {
        tool_result_persist: ({ result }) => ({ result: result.replaceAll(/\d/g, '*') }),
      }),
      module('b', { tool_result_persist: ({ result }) => ({ result: `${result}.` }) }),
      module('c', { tool_result_persist: () => undefined }),
    ]);
    expect(hooks.persisted(RESULT, about)).toBe('secret ****.');
  });

  it('treats a promise as a failure, and the result is not written', () => {
    const { hooks } = watched([
      module('a', {
        tool_result_persist: () => Promise.reject(new Error('no subscriber listens')),
      }),
    ]);
    expect(() => hooks.persisted(RESULT, about)).toThrow('it returned a promise');
  });
});
