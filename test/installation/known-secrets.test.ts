/** The values of a configuration that a process masks in results of tools. */
import { expect, it } from 'vitest';
import { knownSecrets } from '../../installation/known-secrets.ts';
import { load } from '../runtime/config/folder.ts';

const CONFIG = `{
  channels: { telegram: { accounts: { home: { token: 'token-of-a-bot' } } } },
  gateway: { auth: { token: 'token-of-the-gateway' } },
  skills: { env: { KEY: 'value-of-a-skill' } },
  models: { providers: { house: {
    api: 'openai-completions', baseUrl: 'http://127.0.0.1:1', apiKey: 'key-of-a-provider',
    headers: { 'x-key': 'key-in-a-header' }, models: [{ id: 'm' }] } } },
  mcp: { servers: { db: { command: 'db', args: [
    'postgres://me:key-in-an-address@127.0.0.1:1', '--url=http://key%40of-an-address@127.0.0.1:1', 'amqp://me:key@with-at@127.0.0.1'] } } },
  tenants: { acme: { token: 'token-of-acme', skills: { env: { KEY: 'value-of-acme' } } } },
}`;

it('are all secrets of the schema, logins of addresses, and keys of the environment', () => {
  const env = { OPENAI_API_KEY: 'key-of-the-environment', HOME: '/home/me-and-mine' };
  const known = knownSecrets(load(CONFIG).config, env);
  const expected = [
    'token-of-the-gateway',
    'value-of-a-skill',
    'key-of-a-provider',
    'key-in-a-header',
    'token-of-acme',
    'value-of-acme',
    'key-of-the-environment',
    'key-in-an-address',
    'key@of-an-address',
    'key%40of-an-address',
    'key@with-at',
  ];
  expect(known).toEqual(expect.arrayContaining(expected));
  expect(known).not.toContain('/home/me-and-mine');
});
