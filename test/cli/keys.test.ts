/** `troupe keys` and `troupe token` as processes, against a real keyring behind real HTTP. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { KeyRow } from '../../protocols/security/keyring.ts';
import { type Ed25519PrivateJwk, signEnvelope } from '../../protocols/security/signature.ts';
import { GATEWAY_TOKEN, type KeyServer, openKeyServer } from '../channels/http/key-server.ts';
import { envelope } from '../protocols/signed-envelope.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { runProgram } from './program.ts';

const at = (server: KeyServer) => [
  '--url',
  server.url.replace('http', 'ws'),
  '--token',
  GATEWAY_TOKEN,
];
const keys = async (server: KeyServer, ...args: string[]) => {
  const ended = await runProgram(['keys', ...args, '--json', ...at(server)]);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(ended.stdout) as KeyRow & { file: string; keys: KeyRow[] };
};
const keyIn = (file: string) =>
  JSON.parse(readFileSync(file, 'utf8')) as Ed25519PrivateJwk & { kid: string };
const tokenOf = async (server: KeyServer, ...args: string[]) => {
  const ended = await runProgram(['token', '--data', server.home, ...args]);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  return { authorization: `Bearer ${ended.stdout.trim()}` };
};

describe('troupe keys and troupe token', () => {
  it('admit a signing program, also after a rotation, until its key is revoked', async () => {
    const server = await openKeyServer();
    const folder = scratchFolder();
    const [one, two] = [join(folder, 'one.jwk'), join(folder, 'two.jwk')];
    const caller = await server.identity.authenticate(
      await tokenOf(server, '--sub', 'ann', '--roles', 'writer,reader', '--external'),
    );
    expect(caller).toEqual({
      sub: 'ann',
      tenant: 'default',
      roles: ['writer', 'reader'],
      profile: 'A2A-External',
    });
    const isGood = async (file: string) => {
      const signed = envelope({ timestamp: new Date().toISOString() });
      const signature = await signEnvelope(signed, keyIn(file));
      return server.identity.verifyEnvelope(caller, signed, { signature }).then(
        () => true,
        () => false,
      );
    };
    const made = await keys(server, 'create', '--sub', 'ann', '--out', one);
    expect(made).toMatchObject({ sub: 'ann', status: 'active', file: one, kid: keyIn(one).kid });
    expect(statSync(one).mode & 0o777).toBe(0o600);
    expect(await isGood(one)).toBe(true);

    await keys(server, 'rotate', '--sub', 'ann', '--overlap', '2d', '--out', two);
    expect([await isGood(one), await isGood(two)]).toEqual([true, true]);
    const listed = await keys(server, 'list');
    const spans = listed.keys.map(({ kid, status }) => [kid, status]);
    expect(spans).toContainEqual([keyIn(one).kid, 'retiring']);
    expect(spans).toContainEqual([keyIn(two).kid, 'active']);

    await keys(server, 'revoke', keyIn(one).kid);
    expect([await isGood(one), await isGood(two)]).toEqual([false, true]);
  });

  it('print text for a terminal', async () => {
    const server = await openKeyServer();
    const out = join(scratchFolder(), 'ann.jwk');
    const none = await runProgram(['keys', 'list', ...at(server)]);
    expect(none).toEqual({ code: 0, stdout: 'there are no keys\n', stderr: '' });
    const made = await runProgram(['keys', 'create', '--sub', 'ann', '--out', out, ...at(server)]);
    expect(made.stdout).toContain(`its private key is in ${out}\n`);
    const { kid, d } = keyIn(out);
    const listed = await runProgram(['keys', 'list', ...at(server)]);
    expect(listed.stdout).toMatch(new RegExp(`^SUB +STATUS.*\nann +active +20.*Z +${kid}\n$`));
    expect(made.stdout + listed.stdout).not.toContain(d);
  });

  it('keep tenants apart', async () => {
    const server = await openKeyServer();
    const out = join(scratchFolder(), 'k.jwk');
    await keys(server, 'create', '--sub', 'ann', '--tenant', 'acme', '--out', out);
    expect((await keys(server, 'list')).keys).toEqual([]);
    expect((await keys(server, 'list', '--tenant', 'acme')).keys).toHaveLength(1);
    const credentials = await tokenOf(server, '--sub', 'ann', '--tenant', 'acme');
    expect(await server.identity.authenticate(credentials)).toMatchObject({ tenant: 'acme' });
  });
});

describe('troupe keys create', () => {
  it('replaces no file, and leaves none when the gateway refuses or is down', async () => {
    const server = await openKeyServer();
    const folder = scratchFolder();
    const out = join(folder, 'k.jwk');
    await keys(server, 'create', '--sub', 'ann', '--out', out);
    const before = readFileSync(out, 'utf8');
    const again = await runProgram(['keys', 'create', '--sub', 'ann', '--out', out, ...at(server)]);
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('already exists') });
    expect(readFileSync(out, 'utf8')).toBe(before);
    const other = join(folder, 'other.jwk');
    const create = ['keys', 'create', '--sub', 'ann', '--out', other];
    const url = server.url.replace('http', 'ws');
    const refused = await runProgram([...create, '--url', url, '--token', 'wrong']);
    expect(refused).toMatchObject({ code: 4 });
    const gone = `ws://127.0.0.1:${await reservePort()}`;
    expect(await runProgram([...create, '--url', gone, '--token', 'x'])).toMatchObject({ code: 3 });
    const late = await runProgram([
      'keys',
      'rotate',
      '--sub',
      'eve',
      '--out',
      other,
      ...at(server),
    ]);
    expect(late).toMatchObject({ code: 2, stderr: expect.stringContaining('no key to rotate') });
    expect(readdirSync(folder)).toEqual(['k.jwk']);
  });
});

describe('troupe token', () => {
  it('refuses tokens that no gateway would accept, and durations without a unit', async () => {
    const home = scratchFolder();
    const wrong = [
      ['--sub', 'operator'],
      ['--sub', 'ann', '--tenant', 'A/b'],
      ['--sub', 'ann', '--ttl', '400d'],
      ['--sub', 'ann', '--ttl', '0s'],
      ['--sub', 'ann', '--ttl', '60'],
      [],
    ];
    for (const args of wrong)
      expect(await runProgram(['token', '--data', home, ...args])).toMatchObject({
        code: 2,
        stdout: '',
      });
  });

  it('prints only the token, or its details as JSON', async () => {
    const home = scratchFolder();
    const text = await runProgram(['token', '--data', home, '--sub', 'ann']);
    expect(text.stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const json = await runProgram(['token', '--data', home, '--sub', 'ann', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ sub: 'ann', tenant: 'default', roles: [] });
    expect(statSync(join(home, 'a2a', 'issuer.jwk')).mode & 0o777).toBe(0o600);
  });
});
