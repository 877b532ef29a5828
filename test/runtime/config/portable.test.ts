/** A configuration that leaves the machine contains no secret. */
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { portableConfig } from '../../../runtime/config/index.ts';

it('has no secret: in its own key, an address, an argument or a comment', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-portable-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'troupe.json5');
  const text = `{ // CANARY-comment
    models: { providers: { mine: {
      baseUrl: 'https://me:CANARY-login@models.example/v1?key=CANARY-query&region=eu',
      apiKey: 'CANARY-key',
    } } },
    mcp: { servers: {
      a: { command: 'node', args: ['x.js', '--token', 'CANARY-next', '--api-key=CANARY-joined', '--port', '80'] },
      b: { url: 'https://mcp.example/mcp?x=1&api_key=CANARY-mcp', headers: { 'x-key': 'CANARY-header' } },
      c: { command: 'docker', args: ['-e', 'GITHUB_TOKEN=CANARY-env', '--max-tokens=100'], env: { A: 'CANARY-a' } },
    } },
  }`;
  writeFileSync(file, text);
  const portable = portableConfig(file, ['CANARY-login']);
  expect(JSON.stringify(portable)).not.toContain('CANARY');
  for (const kept of ['region=eu', '"80"', '--max-tokens=100', '?x=1&'])
    expect(portable.text).toContain(kept);
  expect(portable.secrets.map(({ path }) => path).toSorted()).toEqual([
    'mcp.servers.a.args[2]',
    'mcp.servers.a.args[3]',
    'mcp.servers.b.headers["x-key"]',
    'mcp.servers.b.url',
    'mcp.servers.c.args[1]',
    'mcp.servers.c.env.A',
    'models.providers.mine.apiKey',
    'models.providers.mine.baseUrl',
  ]);
});
