/** `troupe a2a` as a process, with an agent on loopback. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import JSON5 from 'json5';
import { describe, expect, it } from 'vitest';
import { cardKey } from '../agent/agent2agent/remote-agent.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { startA2aAgent } from '../servers/a2a-agent.ts';
import { runProgram } from './program.ts';

type File = { tools: { a2a: { agents: Record<string, unknown> } } };
const agentsIn = (data: string) =>
  JSON5.parse<File>(readFileSync(join(data, 'troupe.json5'), 'utf8')).tools.a2a.agents;

describe('troupe a2a', () => {
  it('adds an agent with its card and key, shows it, and removes it', async () => {
    const key = await cardKey('k1');
    const agent = await startA2aAgent({ sign: key.sign, keys: () => [key.jwk] });
    const data = scratchFolder();
    write(data, 'troupe.json5', '{ log: { level: "warn" } }');
    writeFileSync(join(data, 'token'), 's3cret\n');
    const a2a = (...args: string[]) => runProgram(['a2a', ...args, '--data', data]);
    const options = ['--allow-private', '--bearer-file', join(data, 'token')];
    const asked = await a2a('add', 'weather', agent.url, ...options);
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('use --yes') });
    const added = await a2a('add', 'weather', agent.url, ...options, '--yes');
    expect(added).toMatchObject({ code: 0, stderr: '' });
    expect(added.stdout).toContain('- Forecast: Weather of a city [sky]');
    expect(added.stdout).toContain(`the key ${key.thumbprint}`);
    expect(agent.requests[0]!.headers.authorization).toBe('Bearer s3cret');
    expect(agentsIn(data)).toEqual({
      weather: {
        url: agent.url,
        about: 'Weather: Knows the weather.\n- Forecast: Weather of a city [sky]',
        bearer: { file: join(data, 'token') },
        key: key.thumbprint,
        allowPrivate: true,
      },
    });
    expect(JSON.stringify(added) + readFileSync(join(data, 'troupe.json5'), 'utf8')).not.toContain(
      's3cret',
    );
    const again = await a2a('add', 'weather', agent.url, '--yes');
    expect(again.stderr).toContain('there is an agent weather already');
    const listed = await a2a('list');
    expect(listed.stdout).toContain(agent.url);
    const card = await a2a('card', 'weather', '--json');
    expect(JSON.parse(card.stdout)).toMatchObject({
      card: { name: 'Weather' },
      key: key.thumbprint,
    });
    await a2a('remove', 'weather');
    expect(agentsIn(data)).toEqual({});
    expect((await a2a('card', 'weather')).stderr).toContain('there is no A2A agent weather');
  });

  it('accepts a changed key when it is asked to', async () => {
    let key = await cardKey('k1');
    const agent = await startA2aAgent({ sign: (card) => key.sign(card), keys: () => [key.jwk] });
    const data = scratchFolder();
    const a2a = (...args: string[]) => runProgram(['a2a', ...args, '--data', data]);
    await a2a('add', 'weather', agent.url, '--allow-private', '--yes', '--json');
    key = await cardKey('k2');
    const refused = await a2a('card', 'weather');
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('troupe a2a trust weather');
    expect(await a2a('trust', 'weather', '--yes')).toMatchObject({ code: 0, stderr: '' });
    expect(agentsIn(data)).toMatchObject({ weather: { key: key.thumbprint } });
    expect((await a2a('card', 'weather')).code).toBe(0);
  });

  it('does not add an agent in a private network, or what is none', async () => {
    const agent = await startA2aAgent();
    const data = scratchFolder();
    const add = (url: string, ...more: string[]) =>
      runProgram(['a2a', 'add', 'weather', url, '--yes', '--data', data, ...more]);
    expect((await add(agent.url)).stderr).toContain('not on the public internet');
    expect((await add('ftp://x.example')).stderr).toContain('is not an http or https URL');
    expect((await add(`${agent.url}/none`, '--allow-private')).stderr).toContain('answered');
    expect(agent.requests.length).toBe(1);
  });
});
