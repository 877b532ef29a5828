/** Logins in addresses of the configuration. */
import { expect, it } from 'vitest';
import { withoutLogin } from '../../../runtime/config/index.ts';
import { problemsOf } from './folder.ts';

const accountOf = (channel: string, settings: object, key: string) => (url: string) => ({
  channels: { [channel]: { accounts: { a: { ...settings, [key]: url } } } },
});

it.each([
  [
    'models.providers.a.baseUrl',
    (url: string) => ({
      models: { providers: { a: { api: 'openai-completions', baseUrl: url } } },
    }),
  ],
  ['channels.webhook.accounts.a.url', accountOf('webhook', { secret: 'x'.repeat(24) }, 'url')],
  [
    'tools.web.search.baseUrl',
    (url: string) => ({ tools: { web: { search: { provider: 'searxng', baseUrl: url } } } }),
  ],
  ['channels.telegram.accounts.a.apiUrl', accountOf('telegram', { token: 't' }, 'apiUrl')],
  [
    'channels.telegram.accounts.a.webhookUrl',
    accountOf('telegram', { token: 't', webhookSecret: 's' }, 'webhookUrl'),
  ],
  [
    'channels.slack.accounts.a.apiUrl',
    accountOf('slack', { botToken: 't', appToken: 't' }, 'apiUrl'),
  ],
  ['channels.discord.accounts.a.apiUrl', accountOf('discord', { token: 't' }, 'apiUrl')],
  [
    'channels.whatsapp.accounts.a.apiUrl',
    accountOf(
      'whatsapp',
      { accessToken: 't', phoneNumberId: '1', appSecret: 's', verifyToken: 'v' },
      'apiUrl',
    ),
  ],
])('bug: a login in %s reached errors, and no request did', (path, settings) => {
  const found = problemsOf(JSON.stringify(settings('http://ann:hunter2@127.0.0.1:1/v1')));
  expect(found).toMatchObject([
    { path, allowed: 'an http:// or https:// URL without a user name or password' },
  ]);
  expect(JSON.stringify(found)).not.toContain('hunter2');
  for (const login of ['ann:hunter2@hunter2', '/ann:hunter2', 'ann:hunter2/1'])
    expect(problemsOf(JSON.stringify(settings(`http://${login}@127.0.0.1/`)))).toMatchObject([
      { path },
    ]);
  for (const url of [
    'http://127.0.0.1',
    'https://h:1/a@b?c=d@e',
    'http://[::1]:1/v1',
    'https://h:?a',
  ])
    expect(problemsOf(JSON.stringify(settings(url)))).toEqual([]);
});

it('bug: a login in the endpoint of a bucket was shown in its errors', () => {
  const found = (endpoint: string) =>
    problemsOf(
      JSON.stringify({
        a2a: {
          artifacts: { s3: { endpoint, bucket: 'b', accessKeyId: 'k', secretAccessKey: 's' } },
        },
      }),
    ).filter(({ path }) => path === 'a2a.artifacts.s3.endpoint');
  expect(found('http://ann:hunter2@127.0.0.1:9000')).toMatchObject([
    { value: '"http://***@127.0.0.1:9000"' },
  ]);
  for (const url of ['http://127.0.0.1:9000/', 'https://[::1]:1/a@b'])
    expect(found(url)).toEqual([]);
});

it('bug: a password with @ was shown from there', () => {
  for (const login of ['ann:hunter2@hunter2', 'ann@hunter2', '/ann:hunter2'])
    expect(withoutLogin(`see http://${login}@127.0.0.1/a@b`)).toBe('see http://***@127.0.0.1/a@b');
});
