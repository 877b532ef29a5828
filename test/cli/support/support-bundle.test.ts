/**
 * The support bundle of an installation with secrets in every place where people put them, and
 * with a conversation: none of them is in the unpacked archive.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { connectOperator } from '../../../client/operator-client.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { reservePort } from '../../servers/reserve-port.ts';
import { announced, runProgram, startProgram } from '../program.ts';

const SECRETS = {
  inConfig: 'sk-config-Zq81mmW0pQ72Lz',
  inEnvironment: 'env-Value-77ahsQWEoiu',
  ofOtherProgram: 'otherprogram-5520-kkaW',
  inUrl: 'url-pw-9911-XyZ',
  inArguments: 'arg-secret-4477-poiU',
  inHeader: 'header-secret-1188-qpwO',
  ofGateway: 'gateway-token-0123456789-abcdef',
};
const TALK = 'The blue heron nests at dawn';
const PERSONA = 'You are Griselda the careful archivist';

const CONFIG = `{
  a2a: { publicUrl: 'http://u:${SECRETS.inUrl}@127.0.0.1:9' },
  agents: { agents: [{ id: 'main', purpose: '${PERSONA}' }] },
  models: { providers: { anthropic: { apiKey: '${SECRETS.inConfig}' },
    own: { api: 'openai-completions', baseUrl: 'http://127.0.0.1:9/v1', apiKey: { env: 'OWN_KEY' } } } },
  mcp: { servers: { files: { enabled: false, command: 'node', args: ['--api-key', '${SECRETS.inArguments}', 'postgres://u:${SECRETS.inUrl}@127.0.0.1:9'] },
    far: { enabled: false, url: 'https://mcp.example/x', headers: { authorization: '${SECRETS.inHeader}' } } } },
}`;

async function environmentOf(config: string) {
  const home = scratchFolder();
  write(home, 'troupe.json5', config);
  const env = {
    TROUPE_HOME: home,
    TROUPE_PORT: String(await reservePort()),
    TROUPE_TOKEN: SECRETS.ofGateway,
    OWN_KEY: SECRETS.inEnvironment,
    PAYMENT_PASSWORD: SECRETS.ofOtherProgram,
  };
  return { home, env };
}

/** All files of the archive, by name. */
function unpacked(archive: string): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(scratchFolder(), 'bundle-'));
  execFileSync('tar', ['-xzf', archive, '-C', folder]);
  const inside = join(folder, 'troupe-support');
  return new Map(
    readdirSync(inside).map((name) => [name, readFileSync(join(inside, name), 'utf8')]),
  );
}

function expectClean(files: ReadonlyMap<string, string>): void {
  for (const [name, text] of files)
    for (const hidden of [...Object.values(SECRETS), TALK, PERSONA, 'agent:main:canary'])
      expect(text.includes(hidden), `${hidden} in ${name}`).toBe(false);
}

it('contains what helps, no secret and no conversation, while the program runs', async () => {
  const { home, env } = await environmentOf(CONFIG);
  const started = startProgram(['start', '--json'], { home, env });
  await announced(started, 60_000);
  const client = await connectOperator({
    url: `ws://127.0.0.1:${env.TROUPE_PORT}`,
    token: SECRETS.ofGateway,
  });
  onTestFinished(() => client.close());
  const sessionKey = 'agent:main:canary';
  await client.request('chat.send', { sessionKey, message: TALK, idempotencyKey: 'canary' });
  const backups = scratchFolder();
  const backup = await runProgram(['backup', 'create', '--to', backups], { home, env });
  expect(backup.code).toBe(0);
  const out = join(home, 'bundle.tar.gz');
  const { code, stdout, stderr } = await runProgram(['support-bundle', '--out', out], {
    home,
    env,
  });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain(out);
  const files = unpacked(out);
  expectClean(files);
  expect(files.get('metrics.txt')).toContain('troupe_shards_owned 8');
  expect(files.get('logs.jsonl')).toContain('gateway: listening');
  expect(files.get('cluster.json')).toContain('"form": "embedded"');
  expect(files.get('configuration.json')).toContain('"apiKey": "***"');
  expect(files.get('doctor.json')).toContain('"check": "node"');
  expect(files.get('environment.json')).toContain('PAYMENT_PASSWORD');
  expect(files.get('dead-letters.json')).toBe('[]\n');
  expect(JSON.parse(files.get('upgrade.json')!)).toMatchObject({
    processes: [{ name: 'this process', role: 'embedded' }],
  });
  expect(JSON.parse(files.get('backup.json')!)).toMatchObject({
    to: backups,
    inFolder: [{ position: expect.any(Number) }],
  });
  expect(JSON.parse(files.get('sizes.json')!)).toMatchObject({
    folders: { store: { files: expect.any(Number) } },
  });
  const again = await runProgram(['support-bundle', '--out', out], { home, env });
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('exists')]);
}, 120_000);

it('works while the program is down, and lists its parts', async () => {
  const { home, env } = await environmentOf(CONFIG);
  const out = join(home, 'bundle.tar.gz');
  const { code } = await runProgram(['support-bundle', '--out', out], { home, env });
  expect(code).toBe(0);
  const files = unpacked(out);
  expectClean(files);
  expect(files.get('logs.jsonl')).toContain('no gateway of this data folder runs');
  expect(JSON.parse(files.get('backup.json')!)).toEqual({ inFolder: [] });
  expect(files.get('upgrade.json')).toContain('contains no data of troupe');
  const list = await runProgram(['support-bundle', '--list'], { home, env });
  for (const name of files.keys()) expect(list.stdout).toContain(name);
}, 120_000);

const invalid: readonly (readonly [string, string, string])[] = [
  ['no JSON5', `{ gateway: { auth: { token: '${SECRETS.inConfig}' `, 'is not valid JSON5'],
  [
    'unknown keys and wrong values',
    `{ gateway: { port: 'seventy' }, models: { providers: { own: { apiKee: '${SECRETS.inConfig}',
      apiKey: ['${SECRETS.inArguments}'], baseUrl: 'http://u:${SECRETS.inUrl}@127.0.0.1:9/v1' } } } }`,
    'models.providers.own.apiKee',
  ],
];
for (const [what, config, problem] of invalid)
  it(`contains the problems of a configuration file with ${what}`, async () => {
    const { home, env } = await environmentOf(config);
    const out = join(home, 'bundle.tar.gz');
    const { code, stderr } = await runProgram(['support-bundle', '--out', out], { home, env });
    expect([code, stderr]).toEqual([0, '']);
    const files = unpacked(out);
    expectClean(files);
    expect(files.get('configuration.json')).toContain(problem);
    expect(files.get('doctor.json')).toContain(problem);
    expect(files.get('versions.json')).toContain('storeFormat');
    expect(files.get('backup.json')).toContain('inFolder');
  }, 60_000);

it('asks the gateway that runs although its file became invalid', async () => {
  const { home, env } = await environmentOf('{}');
  await announced(startProgram(['start', '--json'], { home, env }), 60_000);
  write(home, 'troupe.json5', '{ gateway: { port: true } }');
  const out = join(home, 'bundle.tar.gz');
  const { code } = await runProgram(['support-bundle', '--out', out], { home, env });
  expect(code).toBe(0);
  const files = unpacked(out);
  expectClean(files);
  expect(files.get('configuration.json')).toContain('gateway.port');
  expect(files.get('logs.jsonl')).toContain('gateway: listening');
  expect(files.get('upgrade.json')).toContain('this process');
}, 90_000);
