/**
 * Plugins that crash, hang, flood, lie or use up memory, with real processes. Each time another
 * plugin works on, this process works on, and the state says what happened.
 */
import { describe, expect, it } from 'vitest';
import { createHooks, type HookFailure } from '../../../agent/hooks/create-hooks.ts';
import type { ProcessTimes } from '../../../agent/plugins/plugin-process.ts';
import { createToolRegistry } from '../../../agent/tools/registry.ts';
import { eventually } from '../../runtime/eventually.ts';
import { toolContext } from '../tools/tool-context.ts';
import { codeOf, opened, type TestPlugin, toolNamed } from './plugin-folder.ts';

const about = { tenant: 'default', agentId: 'main', sessionKey: 'agent:main:main', runId: 'r' };

/** A tool `bad` that runs a statement, beside one that works. */
const bad = (statement: string, more: Partial<TestPlugin> = {}): TestPlugin => ({
  manifest: { tools: [toolNamed('bad'), toolNamed('bad_well')] },
  code: codeOf(
    'bad',
    `tools: [{ name: 'bad', run: async (_, { update }) => { ${statement}; return 'done'; } },
             { name: 'bad_well', run: () => 'well' }]`,
  ),
  ...more,
});

const good: TestPlugin = {
  manifest: { tools: [toolNamed('good')] },
  code: codeOf('good', `tools: [{ name: 'good', run: () => 'well' }]`),
};

async function withGood(plugin: TestPlugin, times?: Partial<ProcessTimes>) {
  const plugins = await opened({ bad: plugin, good }, times);
  const tool = (name: string) => plugins.tools.find((one) => one.name === name)!;
  const run = (name: string) => tool(name).run({}, toolContext());
  return { ...plugins, run };
}
type WithGood = Awaited<ReturnType<typeof withGood>>;

/** Another plugin works, and the bad one works again after its wait. */
async function expectRecovery({ run, row }: WithGood, why: RegExp): Promise<void> {
  expect(await run('good')).toEqual({ text: 'well' });
  await eventually(() => expect(row('bad').lastError?.message).toMatch(why));
  await eventually(async () => expect(await run('bad_well')).toEqual({ text: 'well' }));
  expect(row('bad')).toMatchObject({ state: 'running', restarts: 1 });
  expect(row('good')).toMatchObject({ state: 'running', restarts: 0 });
}

describe('a plugin that ends its process', () => {
  it('fails the calls that it had not answered, and starts again', async () => {
    const plugins = await withGood(bad('process.exit(3)'));
    await expect(plugins.run('bad')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'the plugin bad ended with exit code 3',
    });
    await expectRecovery(plugins, /exit code 3/);
  });

  it('reports an uncaught error', async () => {
    const plugins = await withGood(
      bad(`setTimeout(() => { throw new TypeError('in a timer'); }, 1);
           await new Promise(() => {})`),
    );
    await expect(plugins.run('bad')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expectRecovery(plugins, /exit code 1: TypeError: in a timer/);
  });

  it('fails at once while it waits for its next start', async () => {
    const plugins = await withGood(bad('process.exit(3)'));
    await expect(plugins.run('bad')).rejects.toThrow('exit code 3');
    await eventually(() => expect(plugins.row('bad').state).toBe('backing-off'));
    await expect(plugins.run('bad_well')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'the plugin bad waits for its next start: ended with exit code 3',
      retryAfterMs: expect.any(Number),
    });
  });
});

describe('a plugin whose tool throws or returns what cannot be sent', () => {
  // Bug: each of them ended the process, and with it all other calls of the plugin.
  it.each([
    ['throw Object.assign(new Error(), { message: 42 })', '42'],
    ['throw Object.create(null)', 'a value without a text'],
    [`throw Object.assign(new Error('long'), { code: 'x'.repeat(70_000) })`, 'long'],
    [`throw new PluginError('UNAVAILABLE', 'soon', { retryAfterMs: -5 })`, 'soon'],
    [`throw new PluginError('UNAVAILABLE', 'late', { retryAfterMs: 1e12 })`, 'late'],
    ['let deep = {}; for (let i = 0; i < 400; i++) deep = { deep }; return deep', 'nested'],
    [`const round = {}; round.round = round; update(round); throw new Error('sent')`, 'sent'],
  ])('fails only this call: %s', async (statement, why) => {
    const { run, row } = await withGood(bad(statement));
    await expect(run('bad')).rejects.toThrow(why);
    expect(await run('bad_well')).toEqual({ text: 'well' });
    expect(row('bad')).toMatchObject({ state: 'running', restarts: 0 });
  });
});

describe('a plugin that hangs', () => {
  const quick = { beatMs: 50, lateMs: 2_000 };

  it('in an endless loop is killed when it misses its heartbeat', async () => {
    const plugins = await withGood(bad('for (;;);'), quick);
    await expect(plugins.run('bad')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expectRecovery(plugins, /did not answer for 2 s/);
  });

  it('in one call holds up only this call, until its time limit', async () => {
    const plugin = bad('await new Promise(() => {})', {
      manifest: { tools: [toolNamed('bad', { timeoutSeconds: 1 }), toolNamed('bad_well')] },
    });
    const { run, row } = await withGood(plugin, quick);
    const hanging = run('bad');
    expect(await run('bad_well')).toEqual({ text: 'well' });
    await expect(hanging).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      message: 'the plugin bad: bad took longer than 1000 ms',
    });
    expect(row('bad')).toMatchObject({ state: 'running', restarts: 0 });
  });

  it('refuses further calls when too many are not answered', async () => {
    const { run } = await withGood(bad('await new Promise(() => {})'));
    const calls = Array.from({ length: 64 }, () => run('bad').catch(() => {}));
    await expect(run('bad_well')).rejects.toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      message: 'the plugin bad has 64 unanswered calls',
    });
    expect(await run('good')).toEqual({ text: 'well' });
    expect(calls).toHaveLength(64);
  });

  it('before it is ready is killed, and its calls fail', async () => {
    const code = `await new Promise(() => {}); ${bad('').code}`;
    const { run, row } = await withGood({ ...bad(''), code }, { startMs: 600 });
    await expect(run('bad')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'the plugin bad is not ready after 0.6 s',
    });
    expect(row('bad').state).toBe('backing-off');
    expect(await run('good')).toEqual({ text: 'well' });
  });

  it('in a hook is set aside as a hook file is, and the run continues', async () => {
    const { hooks } = await opened({
      slow: {
        manifest: { hooks: ['message_received'] },
        code: codeOf('slow', `hooks: { message_received: () => new Promise(() => {}) }`),
      },
    });
    const failures: HookFailure[] = [];
    const called = createHooks({ modules: hooks, report: (one) => void failures.push(one) });
    const event = { text: 'hi', channel: 'web', images: [] };
    expect(await called.run('message_received', event, about)).toBeUndefined();
    expect(failures).toMatchObject([{ module: 'slow', why: 'it took longer than 5000 ms' }]);
  });
});

describe('a plugin that floods', () => {
  it('its pipe with messages of no call is killed', async () => {
    const plugins = await withGood(
      bad(`const { Socket } = await import('node:net');
           const { writeSync } = await import('node:fs');
           const line = JSON.stringify({ type: 'result', call: 999999, value: 1 }) + '\\n';
           const lines = Buffer.from(line.repeat(1000));
           for (let at = 0; ; at %= lines.length)
             // A pipe that is nearly full accepts a part.
             try { at += writeSync(3, lines, at); } catch (error) {
               if (error.code !== 'EAGAIN') throw error; }`),
    );
    await expect(plugins.run('bad')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expectRecovery(plugins, /sent messages that belong to no call/);
  });

  it('its pipe with one endless line is killed', async () => {
    const plugins = await withGood(
      bad(`const { writeSync } = await import('node:fs');
           const part = 'x'.repeat(65536);
           for (;;) try { writeSync(3, part); } catch (error) {
             if (error.code !== 'EAGAIN') throw error; }`),
    );
    await expect(plugins.run('bad')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expectRecovery(plugins, /sent a message of more than 16777216 bytes/);
  });

  it('the log loses lines, and works on', async () => {
    const plugins = await withGood(
      bad(`for (let n = 0; n < 50_000; n++) console.log('line ' + n)`),
    );
    expect(await plugins.run('bad')).toEqual({ text: 'done' });
    expect(plugins.row('bad').state).toBe('running');
    expect(await plugins.run('bad_well')).toEqual({ text: 'well' });
    expect(plugins.reports.length).toBeLessThanOrEqual(200);
  });

  it('a caller with a result that is too long fails this call', async () => {
    const { run, row } = await withGood(bad(`return 'x'.repeat(17 * 1024 * 1024)`));
    await expect(run('bad')).rejects.toThrow('a message has more than 16777216 bytes');
    expect(row('bad').state).toBe('running');
  });
});

describe('a plugin that uses up memory', () => {
  const small = { entry: { memoryMb: 32 } };

  it('on its heap ends alone, with the reason', async () => {
    const plugins = await withGood(
      bad(`const all = []; for (;;) all.push(new Array(1000).fill({}))`, small),
    );
    await expect(plugins.run('bad')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expectRecovery(plugins, /heap out of memory|used more than 32 MiB/);
  });

  it.skipIf(process.platform !== 'linux')('outside of its heap is killed', async () => {
    const plugins = await withGood(
      bad(
        `const all = []; for (;;) { all.push(Buffer.alloc(8 * 1024 * 1024, 1));
         await new Promise((resolve) => setTimeout(resolve, 20)); }`,
        small,
      ),
      { memoryMs: 50 },
    );
    await expect(plugins.run('bad')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expectRecovery(plugins, /used more than 32 MiB/);
  });
});

describe('a plugin that lies', () => {
  it.each([
    ['{ wrong: true }', /is a required|text is required|is required/],
    ['{ text: 7 }', /text must be string/],
    ["{ text: 'a', sent: [] }", /sent is not a known field/],
    ['undefined', /must be/],
  ])('about the type of a result: %s', async (value, why) => {
    const plugins = await withGood(bad(`return ${value}`));
    const registry = createToolRegistry(plugins.tools);
    const result = await registry.run({ name: 'bad', args: {} }, toolContext());
    expect(result.isError).toBe(true);
    expect(result.text).toMatch(/^bad returned something invalid: /);
    expect(result.text).toMatch(why);
    expect(plugins.row('bad')).toMatchObject({ state: 'running' });
    expect(plugins.row('bad').lastError?.message).toMatch(why);
  });

  it('about a value of its own schema', async () => {
    const returns = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    const { run } = await withGood(
      bad(`return { n: 'many' }`, {
        manifest: { tools: [toolNamed('bad', { returns }), toolNamed('bad_well')] },
      }),
    );
    expect(await run('bad')).toEqual({
      text: 'bad returned something invalid: /n must be integer',
      isError: true,
    });
  });

  it('about the result of a hook that guards is refused', async () => {
    const { hooks } = await opened({
      guard: {
        manifest: { hooks: ['before_tool_call'] },
        code: codeOf('guard', `hooks: { before_tool_call: () => ({ blok: 'never' }) }`),
      },
    });
    const called = createHooks({ modules: hooks });
    const event = { name: 'exec', callId: 'c', args: {} };
    await expect(called.run('before_tool_call', event, about)).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
  });

  it.each([
    [`{ type: 'text', delta: 7 }`, 'delta must be string'],
    [`{ type: 'done', text: 'x' }`, 'is not a known field'],
    [`'text'`, 'must be'],
  ])('about an event of an answer: %s', async (event, why) => {
    const { providers } = await opened({
      liar: {
        manifest: { providers: [{ id: 'liar', models: [{ id: 'small' }] }] },
        code: codeOf('liar', `providers: [{ id: 'liar', async *stream() { yield ${event}; } }]`),
      },
    });
    const request = { model: 'small', system: '', messages: [], tools: [] };
    const signal = new AbortController().signal;
    const reading = async () => {
      const options = { signal, idempotencyKey: 'k', idleTimeoutMs: 10_000 };
      for await (const _ of providers[0]!.stream(request, options));
    };
    await expect(reading()).rejects.toMatchObject({ code: 'INTERNAL' });
    await expect(reading()).rejects.toThrow(why);
  });

  it.each([
    ['its name', codeOf('other', 'tools: []'), /its code has the name other/],
    ['a missing tool', codeOf('bad', 'tools: []'), /no tool bad, which the manifest declares/],
    [
      'another tool',
      codeOf('bad', `tools: ['bad', 'bad_well', 'exec'].map((name) => ({ name, run: () => '' }))`),
      /the tool exec, which the manifest does not declare/,
    ],
    [
      'a hook',
      bad('').code.replace('tools:', 'hooks: { command() {} }, tools:'),
      /the hook command/,
    ],
    ['its export', 'export default 7;', /no default export/],
  ])('in its manifest about %s does not start', async (_, code, why) => {
    const { run, row } = await withGood({ ...bad(''), code });
    await expect(run('bad')).rejects.toThrow(why);
    expect(row('bad').state).toBe('backing-off');
    expect(await run('good')).toEqual({ text: 'well' });
  });

  it('about messages of the protocol is killed', async () => {
    const plugins = await withGood(
      bad(`const { writeSync } = await import('node:fs');
           writeSync(3, '{"type":"pong","beat":"soon"}\\n'); await new Promise(() => {})`),
    );
    await expect(plugins.run('bad')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expectRecovery(plugins, /a message is invalid/);
  });
});
