/** Plans of calls: the order of decisions, and that a call does not run in case of doubt. */
import { Type } from '@sinclair/typebox';
import { describe, expect, it } from 'vitest';
import { createHooks } from '../../../agent/hooks/create-hooks.ts';
import type { HookHandlers } from '../../../agent/hooks/hooks.ts';
import { CALLS_MAX, confinementOf, offeredTools, planCalls } from '../../../agent/policy/plan.ts';
import { createToolRegistry } from '../../../agent/tools/registry.ts';
import { defineTool } from '../../../agent/tools/tool.ts';
import type { AgentSettings, ExecPolicy, SandboxPolicy } from '../../../protocols/agent.ts';

const MAIN = 'agent:main:main';
const OTHER = 'agent:main:dm:anna';

const exec = defineTool({
  name: 'exec',
  aliases: ['bash'],
  groups: ['runtime'],
  description: 'runs a command',
  parameters: Type.Object({ command: Type.String() }, { additionalProperties: false }),
  class: 'once',
  classOf: ({ command }) => (command === 'ls' ? 'repeatable' : 'once'),
  parallel: false,
  question: ({ command }) => (command === '' ? undefined : { command, detail: `in .: ${command}` }),
  run: async () => ({ text: '' }),
});
const read = defineTool({
  name: 'read',
  groups: ['fs'],
  description: 'reads a file',
  parameters: Type.Object({ path: Type.String() }),
  class: 'repeatable',
  parallel: true,
  run: async () => ({ text: '' }),
});
const browser = defineTool({
  name: 'browser',
  groups: ['ui'],
  description: 'opens a page',
  parameters: Type.Object({}),
  class: 'once',
  parallel: false,
  unavailable: () => 'there is no Chromium',
  run: async () => ({ text: '' }),
});
const tools = createToolRegistry([exec, read, browser]);

const settings = (more: Partial<AgentSettings> = {}): AgentSettings => ({
  agentId: 'main',
  timeoutMs: 1_000,
  runsMax: 1,
  tokensPerDay: 0,
  ...more,
});
const sandbox = (more: Partial<SandboxPolicy> = {}): Partial<AgentSettings> => ({
  sandbox: { mode: 'non-main', workspaceAccess: 'ro', allow: [], deny: [], ...more },
});
const asks = (policy: ExecPolicy): Partial<AgentSettings> => ({ tools: { exec: policy } });

type Case = {
  readonly settings?: Partial<AgentSettings>;
  readonly sessionKey?: string;
  readonly hooks?: HookHandlers;
  readonly allowed?: readonly string[];
};
const plan = async (name: string, args: unknown, with_: Case = {}) => {
  const { sessionKey = MAIN, hooks = {}, allowed = [] } = with_;
  const [planned] = await planCalls([{ id: 'c1', name, args }], {
    tools,
    hooks: createHooks({ modules: [{ name: 'test', hooks }] }),
    settings: settings(with_.settings),
    about: { tenant: 'default', agentId: 'main', sessionKey, runId: 'r1' },
    allowed,
  });
  if (!planned) throw new Error('no plan');
  return planned;
};

describe('a call', () => {
  it('that may run is planned under the tool’s own name, with class and confinement', async () => {
    expect(await plan('bash', { command: 'ls' }, { allowed: ['ls'] })).toEqual({
      id: 'c1',
      name: 'exec',
      args: { command: 'ls' },
      class: 'repeatable',
      parallel: false,
      confinement: { sandboxed: false, workspaceAccess: 'rw' },
    });
    expect(await plan('exec', { command: 'rm x' })).toMatchObject({ class: 'once' });
  });

  it('of an unknown tool is refused with a list of the available tools', async () => {
    const planned = await plan('reed', {}, { settings: { tools: { deny: ['exec'] } } });
    expect(planned.refused).toBe('There is no tool named "reed". Tools: read.');
    expect(planned).toMatchObject({ name: 'reed', class: 'repeatable' });
  });

  it('of a tool that cannot run here is refused with the reason', async () => {
    expect((await plan('browser', {})).refused).toContain('there is no Chromium');
  });

  it('with invalid arguments is refused with the faults', async () => {
    expect((await plan('read', { file: 'x' })).refused).toContain('path: ');
    expect((await plan('read', '{"path": ')).refused).toContain('not valid JSON');
  });

  it.each([
    [{ tools: { deny: ['bash'] } }, MAIN, 'the rule bash in tools.deny of all or of agent main'],
    [{ tools: { deny: ['group:runtime'], allow: ['exec'] } }, MAIN, 'the rule group:runtime in'],
    [{ tools: { deny: ['*'] } }, MAIN, 'the rule * in tools.deny'],
    [
      { tools: { allow: ['read', 'group:web'] } },
      MAIN,
      'not in tools.allow of all or of agent main (read, group:web)',
    ],
    [sandbox({ deny: ['exec'] }), OTHER, 'the rule exec in sandbox.denylist of agent main'],
    [sandbox({ allow: ['read'] }), OTHER, 'not in sandbox.allowlist of agent main'],
  ])(
    'that policy refuses is answered with the rule and its place: %j in %s',
    async (given, sessionKey, why) => {
      const planned = await plan('exec', { command: 'ls' }, { settings: given, sessionKey });
      expect(planned.refused).toContain(`exec cannot be used here: `);
      expect(planned.refused).toContain(why);
      expect(planned.question).toBeUndefined();
    },
  );

  it('in the main session is not restricted by the lists of the sandbox', async () => {
    const planned = await plan('read', { path: 'x' }, { settings: sandbox({ deny: ['*'] }) });
    expect(planned.refused).toBeUndefined();
  });

  it(`past the ${CALLS_MAX}th of an answer does not run`, async () => {
    const calls = Array.from({ length: CALLS_MAX + 2 }, (_, at) => ({
      id: `c${at}`,
      name: 'read',
      args: { path: 'x' },
    }));
    const planned = await planCalls(calls, {
      tools,
      hooks: createHooks(),
      settings: settings(),
      about: { tenant: 'default', agentId: 'main', sessionKey: MAIN },
      allowed: [],
    });
    expect(planned.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
    expect(planned.map(({ refused }) => refused !== undefined).lastIndexOf(false)).toBe(
      CALLS_MAX - 1,
    );
    expect(planned.at(-1)?.refused).toContain(`an answer may have at most ${CALLS_MAX} calls`);
  });
});

describe('a hook before a call', () => {
  it('may change its arguments, and later checks use the changed ones', async () => {
    const planned = await plan(
      'exec',
      { command: 'ls' },
      {
        allowed: ['ls'],
        hooks: { before_tool_call: () => ({ args: { command: 'rm x' } }) },
      },
    );
    expect(planned).toMatchObject({
      args: { command: 'rm x' },
      class: 'once',
      question: { command: 'rm x' },
    });
  });

  it('cannot set arguments that the schema refuses', async () => {
    const hooks = { before_tool_call: () => ({ args: { file: 'x' } }) };
    const planned = await plan('read', { path: 'x' }, { hooks });
    expect(planned.refused).toMatch(/a hook of this installation changed the call.*path: /);
    expect(planned.args).toEqual({ path: 'x' });
  });

  it('may block it with a reason', async () => {
    const hooks = { before_tool_call: () => ({ block: 'not on Sundays' }) };
    const planned = await plan('exec', { command: 'rm x' }, { hooks });
    expect(planned.refused).toBe('Not run: not on Sundays');
    expect(planned.question).toBeUndefined();
  });

  it('prevents it from running when it fails', async () => {
    const hooks = {
      before_tool_call: () => {
        throw new Error('broken');
      },
    };
    expect((await plan('read', { path: 'x' }, { hooks })).refused).toBe(
      'Not run: the hook before_tool_call of test failed: broken',
    );
  });

  it('is not called when policy or schema refuse the call', async () => {
    let asked = 0;
    const hooks = { before_tool_call: () => void asked++ };
    await plan('read', {}, { hooks });
    await plan('nothing', {}, { hooks });
    await plan('exec', { command: 'ls' }, { hooks, settings: { tools: { deny: ['exec'] } } });
    expect(asked).toBe(0);
  });
});

describe('a command on the host', () => {
  const question = async (command: string, with_: Case = {}) =>
    (await plan('exec', { command }, with_)).question;

  it('needs an approval when no pattern matches it', async () => {
    expect(await question('git push')).toEqual({
      command: 'git push',
      detail: 'in .: git push',
      pattern: 'git push',
      forMs: 1_800_000,
    });
  });

  it('is shown with its invisible characters escaped', async () => {
    expect(await question('ls \u202ecod\u0007\n')).toMatchObject({
      command: 'ls \\u{202e}cod\\u{7}\n',
      detail: 'in .: ls \\u{202e}cod\\u{7}\n',
      pattern: '',
    });
  });

  it('waits for an approval as long as the policy allows, without a pattern when none exists', async () => {
    const given = { settings: asks({ askForMs: 60_000 }) };
    expect(await question('ls $HOME', given)).toMatchObject({ forMs: 60_000, pattern: '' });
  });

  it('needs no approval when patterns of the policy or of users match it', async () => {
    expect(await question('ls x', { settings: asks({ allow: ['ls *'] }) })).toBeUndefined();
    expect(await question('ls x', { allowed: ['ls x'] })).toBeUndefined();
    const both = { settings: asks({ allow: ['ls *'] }), allowed: ['git status'] };
    expect(await question('ls && git status', both)).toBeUndefined();
    expect(await question('ls && git push', both)).toBeDefined();
  });

  it('always needs an approval when the policy requires it, and cannot be allowed permanently', async () => {
    const given = { settings: asks({ ask: 'always', allow: ['ls'] }), allowed: ['ls'] };
    expect(await question('ls', given)).toMatchObject({ pattern: '' });
  });

  it('never needs an approval when the policy turns it off, or in the sandbox', async () => {
    expect(await question('rm x', { settings: asks({ ask: 'off' }) })).toBeUndefined();
    expect(await question('rm x', { settings: sandbox(), sessionKey: OTHER })).toBeUndefined();
  });

  it('is refused when it is too long to be shown completely', async () => {
    const command = `echo ${'x'.repeat(8_000)}; rm -r y`;
    const planned = await plan('exec', { command });
    expect(planned.question).toBeUndefined();
    expect(planned.refused).toMatch(/8\d\d\d characters are too many.*Write it to a file/);
    const given = { settings: asks({ allow: ['echo *', 'rm *'] }) };
    expect(await question(`echo ${'x'.repeat(7_500)}`, given)).toBeUndefined();
  });

  it('needs no approval when the tool has no question', async () => {
    expect(await question('')).toBeUndefined();
  });
});

describe('confinement', () => {
  it.each([
    ['none', MAIN, false, 'rw'],
    ['none', OTHER, false, 'rw'],
    ['non-main', MAIN, false, 'rw'],
    ['non-main', OTHER, true, 'ro'],
    ['non-main', 'agent:main:work', true, 'ro'],
    ['non-main', 'agent:other:main', true, 'ro'],
    ['non-main', 'main', true, 'ro'],
    ['always', MAIN, true, 'ro'],
  ] as const)('by mode %s of session %s: sandboxed %s', (mode, key, sandboxed, workspaceAccess) => {
    const given = settings(sandbox({ mode }));
    expect(confinementOf(given, key)).toEqual({ sandboxed, workspaceAccess });
  });

  it('recognizes the main session by the configured key', () => {
    const given = settings(sandbox({ mainKey: 'home' }));
    expect(confinementOf(given, 'agent:main:home').sandboxed).toBe(false);
    expect(confinementOf(given, MAIN).sandboxed).toBe(true);
  });

  it('sandboxes all but the main session by default', () => {
    expect(confinementOf(settings(), MAIN).sandboxed).toBe(false);
    expect(confinementOf(settings(), OTHER).sandboxed).toBe(true);
  });
});

describe('the offered tools', () => {
  it('are those that policy allows and that can run here, in the order of the registry', () => {
    const names = (given: Partial<AgentSettings>, key = MAIN) =>
      offeredTools(tools, settings(given), key).map(({ name }) => name);
    expect(names({})).toEqual(['exec', 'read']);
    expect(names({ tools: { deny: ['group:fs'] } })).toEqual(['exec']);
    expect(names(sandbox({ allow: ['read'] }), OTHER)).toEqual(['read']);
    expect(names({ tools: { deny: ['*'] } })).toEqual([]);
  });
});
