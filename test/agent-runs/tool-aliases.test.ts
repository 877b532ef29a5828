/** The model of every provider calls a tool by one of its aliases. */
import { expect, it, onTestFinished } from 'vitest';
import { type ServedApi, startModelServer } from '../servers/model-server.ts';
import { install, MODELS, providerOf } from './installation.ts';

const config = {
  agents: { defaults: { sandbox: { mode: 'none' } } },
  tools: { exec: { allow: ['echo hi'] } },
};
const command = { command: 'echo hi' };

it.each(Object.keys(MODELS) as ServedApi[])('bash is exec for %s', async (api) => {
  const server = await startModelServer({ api });
  onTestFinished(() => server.close());
  const providers = { p: providerOf(api, server) };
  const troupe = await install({ config: { ...config, models: { providers } } });
  const calls = [{ id: 'call_1', name: 'bash', args: command }];
  server.script({ kind: 'answer', calls }, { kind: 'answer', deltas: ['It said hi.'] });
  const { row, results } = await troupe.run('agent:main:main', 'say hi');
  expect(row).toMatchObject({ status: 'ok', text: 'It said hi.' });
  expect(results).toMatchObject([
    { name: 'exec', isError: false, result: expect.stringMatching(/^hi\n/) },
  ]);
  const body = JSON.stringify(server.requests.at(-1)?.body);
  expect(body).toContain('"bash"');
  expect(body).not.toContain('aliases');
  if (api === 'google-generative-ai')
    expect(body).toMatch(/"functionResponse":\{[^{}]*"name":"bash"/);
});

it.each(['call bash {"command": "echo hi"}', 'use the tool bash echo hi'])(
  'bash is exec for the offline model: %s',
  async (text) => {
    const troupe = await install({ config });
    const { row, results } = await troupe.run('agent:main:main', text);
    expect(row.status).toBe('ok');
    expect(results.map(({ name, result }) => [name, result.slice(0, 3)])).toEqual([
      ['exec', 'hi\n'],
    ]);
  },
);
