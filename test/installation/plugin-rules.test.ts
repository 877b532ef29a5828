/** What a configuration may name of its plugins, and which tenants have them. */
import { mkdirSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { openProcessServices } from '../../compose/process-services.ts';
import { partsFor } from '../../installation/tenant-parts.ts';
import { startRules } from '../../installation/start-rules.ts';
import { codeOf, toolNamed, writePlugin } from '../agent/plugins/plugin-folder.ts';
import { load, problemsOf, scratchFolder } from '../runtime/config/folder.ts';

/** A data folder with a plugin that declares a tool, a hook and a provider. */
function home(): string {
  const folder = scratchFolder();
  mkdirSync(`${folder}/data`);
  writePlugin(folder, 'echo', {
    manifest: {
      tools: [toolNamed('echo_say')],
      hooks: ['command'],
      providers: [{ id: 'echo', models: [{ id: 'small' }] }],
    },
    code: codeOf(
      'echo',
      `tools: [{ name: 'echo_say', run: () => '' }], hooks: { command() {} },
       providers: [{ id: 'echo', async *stream() {} }]`,
    ),
  });
  return folder;
}

const enabled = { plugins: { entries: { echo: { enabled: true } } } };
const problems = (config: object, data = home()) =>
  problemsOf(JSON.stringify({ ...enabled, ...config }), { rules: startRules, flags: { data } });

it('accepts models and tools of an enabled plugin, and no others of its names', () => {
  const agent = { id: 'main', model: 'echo/small' };
  const of = (tools: object) => problems({ agents: { agents: [agent] }, tools });
  expect(of({ allow: ['echo_say', 'group:echo', 'group:plugins'] })).toEqual([]);
  expect(of({ deny: ['echo_sya'] })).toMatchObject([
    { path: 'tools.deny[0]', message: 'the plugin echo has no such tool; did you mean echo_say?' },
  ]);
  expect(of({ deny: ['other_say'] })).toMatchObject([
    { path: 'tools.deny[0]', message: expect.stringContaining('no tool or group has this name') },
  ]);
});

// Bug: a name without a provider was taken for a provider with one character more.
it('refuses a model name without a provider that only begins as a plugin does', () => {
  const of = (model: string) => problems({ agents: { agents: [{ id: 'main', model }] } });
  for (const model of ['echo', 'echo2'])
    expect(of(model)).toMatchObject([{ path: 'agents.agents[0].model' }]);
});

it('refuses the models of a plugin that is not enabled', () => {
  const config = {
    plugins: { entries: { echo: { enabled: false } } },
    agents: { agents: [{ id: 'main', model: 'echo/small' }] },
  };
  expect(problems(config)).toMatchObject([{ path: 'agents.agents[0].model' }]);
});

it('accepts channels of this build and of enabled plugins only', () => {
  const data = home();
  const channels = [{ id: 'line', charactersMax: 1_000 }];
  const code = codeOf('line', `channels: [{ id: 'line', start() {}, send() {} }]`);
  writePlugin(data, 'line', { manifest: { channels }, code });
  const accounts = { main: { config: { any: 'setting' }, secrets: { key: 'k' } } };
  const of = (name: string, entries: object) =>
    problems({ channels: { [name]: { accounts } }, plugins: { entries } }, data);
  expect(of('line', { line: { enabled: true } })).toEqual([]);
  expect(of('line', {})).toMatchObject([
    { path: 'channels.line', message: expect.stringContaining('no enabled plugin has') },
  ]);
  expect(of('telegarm', {})).toMatchObject([
    { path: 'channels.telegarm', message: expect.stringContaining('did you mean telegram?') },
  ]);
});

// Bug: a plugin that was moved, or has a broken manifest, prevented the start of everything else.
it('accepts what could be of an enabled plugin whose manifest cannot be read', () => {
  const of = (channel: string, model: string) =>
    problems({
      plugins: { entries: { gone: { enabled: true } } },
      channels: { [channel]: { accounts: { main: {} } } },
      agents: { agents: [{ id: 'main', model }] },
      tools: { deny: ['gone_say'] },
    });
  expect(of('gone', 'gone/small')).toEqual([]);
  expect(of('gone_line', 'gone_big/small')).toEqual([]);
  expect(of('lost', 'lost/small')).toMatchObject([
    { path: 'agents.agents[0].model' },
    { path: 'channels.lost' },
  ]);
});

it('serves all tenants, but a tenant with providers of its own has none of a plugin', async () => {
  const data = home();
  const tenants = {
    inherits: { hooks: {}, tools: {} },
    own: { models: { providers: { x: { api: 'openai-completions', baseUrl: 'http://h/v1' } } } },
  };
  const text = JSON.stringify({ ...enabled, tenants, log: { level: 'silent' } });
  const { config } = load(text, { flags: { data } });
  const services = await openProcessServices(config, false);
  onTestFinished(() => services.plugins.close());
  const has = (tenant: string) => {
    const { catalog, tools, hooks } = partsFor(services, tenant).services;
    const model = catalog.names().includes('echo/small');
    return [model, tools.get('echo_say') !== undefined, hooks.has('command')];
  };
  expect(has('default')).toEqual([true, true, true]);
  expect(has('inherits')).toEqual([true, true, true]);
  expect(has('own')).toEqual([false, true, true]);
});
