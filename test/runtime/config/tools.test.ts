/** The sections for tools, hooks, skills, queues and budgets: accepted and refused values. */
import { describe, expect, it } from 'vitest';
import { noteOwnTools, Secret } from '../../../runtime/config/index.ts';
import { load, problemsOf, scratchFolder } from './folder.ts';

const paths = (text: string) => problemsOf(text).map(({ path }) => path);

describe('the tools', () => {
  it('of a program of a user may be listed, also by commands after the program ran', () => {
    const listed = `{ tools: { allow: ['stock_level'] }, agents: { spawnDefaults: { sandbox: { allowlist: ['stock_level'] } } } }`;
    expect(paths(listed)).toEqual(['tools.allow[0]', 'agents.spawnDefaults.sandbox.allowlist[0]']);
    expect(problemsOf(listed)[0]?.message).toContain('startTroupe({ tools })');
    expect(problemsOf(listed, { ownTools: ['stock_level'] })).toEqual([]);
    const home = scratchFolder();
    noteOwnTools(home, ['stock_level']);
    expect(problemsOf(listed, { flags: { data: home } })).toEqual([]);
    expect(problemsOf(listed, { flags: { data: home }, ownTools: ['stock_leve'] })).toHaveLength(2);
    const [refused] = problemsOf(listed, { flags: { data: home }, ownTools: [] });
    expect(refused?.message).toContain('start that program instead');
    noteOwnTools(home, []);
    expect(problemsOf(listed, { flags: { data: home } })).toHaveLength(2);
  });

  it('have a default for everything that agents need', () => {
    const { tools, hooks, skills, messages, budget } = load('{}').config;
    expect(tools.exec).toMatchObject({ boundary: 'auto', network: false, ask: 'on-miss' });
    expect(tools.web).toMatchObject({ search: {}, allowPrivate: [] });
    expect(tools.browser).toEqual({ headless: true, evaluate: false });
    expect(hooks).toEqual({ disabled: [], required: false });
    expect(skills).toEqual({ env: {} });
    expect(messages.queue).toMatchObject({ mode: 'steer', cap: 20, overflow: 'summarize' });
    expect(budget).toEqual({ tokensPerDay: 0, costPerDayUsd: 0 });
  });

  it('keep secrets of searches and skills as secrets', () => {
    const { tools, skills } = load(
      `{ tools: { web: { search: { provider: 'brave', apiKey: { env: 'KEY' } } } },
         skills: { env: { API_KEY: { env: 'KEY' } } } }`,
      { env: { KEY: 'hush' } },
    ).config;
    expect(tools.web.search.apiKey).toBeInstanceOf(Secret);
    expect(skills.env['API_KEY']?.reveal()).toBe('hush');
    expect(JSON.stringify({ tools, skills })).not.toContain('hush');
  });

  it('reach agents outside encrypted, unless they are in a private network', () => {
    const agents = (text: string) => `{ tools: { a2a: { agents: { weather: ${text} } } } }`;
    expect(load(agents("{ url: 'https://a.example' }")).config.tools.a2a.agents).toEqual({
      weather: {
        url: 'https://a.example',
        headers: {},
        keyOrigins: [],
        origins: [],
        requireSignature: false,
        allowPrivate: false,
        approval: 'ask',
        timeoutSeconds: 600,
        legacy: false,
      },
    });
    const open = agents("{ url: 'http://a.example', keyOrigins: ['http://b.example'] }");
    expect(paths(open)).toEqual([
      'tools.a2a.agents.weather.url',
      'tools.a2a.agents.weather.keyOrigins[0]',
    ]);
    expect(paths(agents("{ url: 'http://a.example', allowPrivate: true }"))).toEqual([]);
    expect(paths(agents("{ url: 'https://user:word@a.example' }"))).toEqual([
      'tools.a2a.agents.weather.url',
    ]);
  });

  it('refuse invalid values, and name the valid ones', () => {
    expect(
      problemsOf("{ tools: { exec: { boundary: 'jail', timeoutSeconds: 0, ask: 'maybe' } } }"),
    ).toMatchObject([
      {
        path: 'tools.exec.boundary',
        value: '"jail"',
        allowed: '"auto", "bubblewrap", "docker"',
      },
      { path: 'tools.exec.timeoutSeconds', allowed: 'a whole number from 1 to 86400' },
      { path: 'tools.exec.ask', allowed: '"off", "on-miss", "always"' },
    ]);
    expect(
      problemsOf("{ messages: { queue: { mode: 'push', byChannel: { webchat: 'x' }, cap: 0 } } }"),
    ).toMatchObject([
      { path: 'messages.queue.mode', allowed: '"steer", "followup", "collect", "interrupt"' },
      { path: 'messages.queue.byChannel.webchat' },
      { path: 'messages.queue.cap', allowed: 'a whole number from 1 to 1000' },
    ]);
    expect(
      paths('{ agents: { defaults: { limits: { costPerRunUsd: 0, tokensPerDay: 4 } } } }'),
    ).toEqual(['agents.defaults.limits.tokensPerDay', 'agents.defaults.limits.costPerRunUsd']);
    expect(paths("{ skills: { env: { 'A=B': 'x' } } }")).toEqual(['skills.env["A=B"]']);
  });

  it('refuse unknown tool names in every list', () => {
    expect(
      problemsOf(`{
  tools: { deny: ['exce'] },
  agents: {
    defaults: { tools: { allow: ['group:net'] } },
    agents: [{ id: 'a', tools: { deny: ['Read'] } }],
  },
}`),
    ).toMatchObject([
      { path: 'tools.deny[0]', message: expect.stringContaining('did you mean exec? A tool') },
      {
        path: 'agents.defaults.tools.allow[0]',
        value: '"group:net"',
        message: expect.stringContaining('A tool of your own program'),
      },
      { path: 'agents.agents[0].tools.deny[0]', allowed: expect.stringContaining('group:fs') },
    ]);
  });

  it('require the keys that a search provider needs', () => {
    const search = (text: string) => paths(`{ tools: { web: { search: ${text} } } }`);
    expect(search("{ provider: 'searxng' }")).toEqual(['tools.web.search.baseUrl']);
    expect(search("{ provider: 'tavily' }")).toEqual(['tools.web.search.apiKey']);
    expect(search("{ provider: 'searxng', baseUrl: 'http://127.0.0.1:1' }")).toEqual([]);
    expect(search("{ provider: 'brave', apiKey: 'k' }")).toEqual([]);
  });

  it('resolve folders from the folder of the file', () => {
    const { hooks, skills } = load("{ hooks: { folder: 'h' }, skills: { folder: 's' } }").config;
    expect([hooks.folder, skills.folder]).toEqual([
      expect.stringMatching(/^\/.*\/h$/),
      expect.stringMatching(/^\/.*\/s$/),
    ]);
  });
});
