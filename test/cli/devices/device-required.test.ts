/**
 * The command line with a gateway whose `gateway.auth.deviceIdentity` is "always": each command
 * connects as a device, also several at once, and a refusal prints the remedy.
 */
import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Gateway, GatewayOptions } from '../../../channels/index.ts';
import type { GatewayAuth } from '../../../channels/gateway/auth/access.ts';
import { defined } from '../../../protocols/defined.ts';
import { type DeviceRow, DEVICES_INDEX } from '../../../protocols/device.ts';
import type { System } from '../../../runtime/index.ts';
import { connectParams, eventually, TOKEN } from '../../channels/gateway/client.ts';
import { helloAs, newDevice } from '../../channels/gateway/devices/device-identity.ts';
import { forwarder } from '../../channels/gateway/forwarder.ts';
import { closeAll, openGateway, openChallenged } from '../../channels/gateway/opened.ts';
import { dataFolder, openRealSystem } from '../../channels/gateway/real-system.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { runProgram } from '../program.ts';

const folder = dataFolder();
let system: System;
beforeAll(async () => {
  system = await openRealSystem(folder.path, 1_000);
});
afterAll(async () => {
  await system.stop();
  folder.remove();
});
afterEach(async () => {
  await forgetAll();
  await closeAll();
});

const open = (auth: Partial<GatewayAuth> = {}, options: Partial<GatewayOptions> = {}) =>
  openGateway(system, {
    auth: { mode: 'token', token: TOKEN, deviceIdentity: 'always', ...auth },
    ...options,
  });

type Row = Pick<DeviceRow, 'deviceId' | 'face' | 'roles'>;
const rows = async (): Promise<Row[]> => {
  const found: Row[] = [];
  const fields = ['deviceId', 'face', 'roles'] as const;
  await system.index.scan<DeviceRow, (typeof fields)[number]>(
    DEVICES_INDEX,
    'default',
    { fields },
    (row) => void found.push(row),
  );
  return found;
};

/** Each test starts without devices. */
const forgetAll = async (): Promise<void> => {
  const gateway = await openGateway(system);
  const operator = await openChallenged(gateway);
  await operator.call('connect', connectParams({ scopes: ['operator.admin'] }));
  const { payload } = await operator.call('device.pair.list', {});
  for (const { requestId } of payload.pending)
    await operator.call('device.pair.reject', { requestId });
  for (const { deviceId } of payload.paired)
    await operator.call('device.pair.remove', { deviceId });
};

const wsUrl = ({ url }: Gateway): string => url.replace('http:', 'ws:');

/** One user with a separate data folder. */
const userOf = (gateway: Gateway, home = scratchFolder()) => ({
  home,
  run: (args: readonly string[], more: { stdin?: string; token?: string } = {}) =>
    runProgram([...args, '--url', wsUrl(gateway)], {
      home,
      env: { TROUPE_HOME: home, ...(more.token === '' ? {} : { TROUPE_TOKEN: TOKEN }) },
      ...defined({ stdin: more.stdin }),
    }),
});

const keyFile = (home: string) => join(home, 'device.json');

test('every command that connects uses the same device of this machine', async () => {
  const gateway = await open();
  const { home, run } = userOf(gateway);
  const commands: readonly (readonly string[])[] = [
    ['devices', 'list'],
    ['nodes', 'list'],
    ['sessions'],
    ['audit'],
    ['agent', '--message', 'what is 6*7?'],
  ];
  for (const command of commands) {
    expect({ command, ...(await run(command)) }).toMatchObject({ command, code: 0 });
  }
  const chat = await run(['chat'], { stdin: 'what is 6*7?\n' });
  expect(chat).toMatchObject({ code: 0, stdout: expect.stringContaining('42') as string });
  expect(await rows()).toMatchObject([{ roles: { operator: {} } }]);
  expect(statSync(keyFile(home)).mode & 0o777).toBe(0o600);
});

test('commands that first run at the same time create one key and one device', async () => {
  const gateway = await open();
  const { home, run } = userOf(gateway);
  const ended = await Promise.all(Array.from({ length: 6 }, () => run(['sessions'])));
  expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual(ended.map(() => [0, '']));
  expect(await rows()).toHaveLength(1);
  expect(readdirSync(home).filter((name) => name.includes('.new'))).toEqual([]);
});

test('no key is created for a gateway that requires no device', async () => {
  const gateway = await open({ deviceIdentity: 'optional' });
  const { home, run } = userOf(gateway);
  expect((await run(['sessions'])).code).toBe(0);
  expect(existsSync(keyFile(home))).toBe(false);
  expect(await rows()).toEqual([]);
});

test('a command from another machine is refused with a remedy that works', async () => {
  // A proxy on this machine that forwards clients of other machines.
  const gateway = await open({ trustedProxy: { proxies: ['127.0.0.1'] } });
  const remote = await forwarder(gateway);
  const stranger = userOf({ ...gateway, url: remote.url });
  const refused = await stranger.run(['sessions']);
  expect(refused.code).toBe(4);
  const [, request = ''] = /troupe devices approve (\S+)/.exec(refused.stderr) ?? [];
  expect(request).toMatch(/^[0-9a-f-]{36}$/);
  const owner = userOf(gateway);
  expect(await owner.run(['devices', 'approve', request])).toMatchObject({ code: 0 });
  expect((await stranger.run(['sessions'])).code).toBe(0);
  // From now on it has its own token and no longer needs the shared one.
  expect((await stranger.run(['sessions'], { token: '' })).code).toBe(0);
  await owner.run(['devices', 'revoke', (await rows()).find(isRemote)!.deviceId]);
  const revoked = await stranger.run(['sessions'], { token: '' });
  expect(revoked.code).toBe(4);
  expect((await stranger.run(['sessions'])).code).toBe(0);
  await remote.close();
});

test('a removed device requests pairing again, and connects to a gateway that requires no device', async () => {
  const gateway = await open();
  const { home, run } = userOf(gateway);
  expect((await run(['sessions'])).code).toBe(0);
  await forgetAll();
  expect((await run(['sessions'])).code).toBe(0);
  const { port } = gateway;
  await gateway.close();
  await forgetAll();
  const relaxed = await open({ deviceIdentity: 'optional', allowLocal: false }, { port });
  expect((await userOf(relaxed, home).run(['sessions'])).code).toBe(0);
});

test('a damaged key file is reported in one sentence', async () => {
  const gateway = await open();
  const { home, run } = userOf(gateway);
  writeFileSync(keyFile(home), '{"privateKey":"none"}');
  const { code, stderr } = await run(['sessions']);
  expect(code).toBe(2);
  expect(stderr).toContain(keyFile(home));
  expect(stderr.split('\n').filter(Boolean)).toHaveLength(1);
});

test('a token that cannot be stored is reported in one sentence', async () => {
  const gateway = await open();
  const { home, run } = userOf(gateway);
  symlinkSync(join(home, 'nowhere', 'deeper'), join(home, 'device-tokens'));
  const { code, stderr } = await run(['sessions']);
  expect(code).toBe(1);
  expect(stderr).toContain(`cannot write ${join(home, 'device-tokens')}`);
  expect(stderr.split('\n').filter(Boolean)).toHaveLength(1);
});

test('a command that prints the token runs once per connection', async () => {
  const gateway = await open();
  const home = scratchFolder();
  const script = `echo once >> '${home}/runs'; echo ${TOKEN}`;
  const auth = { token: { command: ['sh', '-c', script] } };
  const config = { gateway: { port: gateway.port, auth } };
  writeFileSync(join(home, 'troupe.json5'), JSON.stringify(config));
  const env = { TROUPE_HOME: home };
  expect(await runProgram(['sessions'], { home, env })).toMatchObject({ code: 0 });
  expect(readFileSync(join(home, 'runs'), 'utf8')).toBe('once\n');
});

test('a key file of an earlier version can be read and keeps its tokens', async () => {
  const { Identity } = await import('../../../cli/client/device-identity.ts');
  const place = scratchFolder();
  const made = Identity.in(place);
  const { privateKey } = JSON.parse(readFileSync(keyFile(place), 'utf8')) as Record<string, string>;
  const old = scratchFolder();
  writeFileSync(keyFile(old), JSON.stringify({ privateKey, tokens: { 'ws://a': 'kept' } }));
  const opened = Identity.in(old);
  expect(opened.deviceId).toBe(made.deviceId);
  expect(opened.tokenFor('ws://a')).toBe('kept');
  opened.keepToken('ws://a', undefined);
  expect(Identity.in(old).tokenFor('ws://a')).toBeUndefined();
  opened.keepToken('ws://b', 'new');
  expect(Identity.in(old).tokenFor('ws://b')).toBe('new');
});

test('a device of another program is still refused without an approval', async () => {
  const gateway = await open({ trustedProxy: { proxies: ['127.0.0.1'] } });
  const client = await openChallenged(gateway, { 'x-forwarded-for': '203.0.113.9' });
  const params = connectParams() as Parameters<typeof helloAs>[2];
  const { error } = await helloAs(client, newDevice(), params);
  expect(error?.details).toMatchObject({ code: 'PAIRING_REQUIRED' });
  await eventually(async () => ((await rows()).length > 0 ? true : undefined), 'its row');
});

const isRemote = ({ face }: Row): boolean => face.ip !== undefined;
