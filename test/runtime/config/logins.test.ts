/** Logins in addresses of the configuration. */
import { expect, it } from 'vitest';
import { problemsOf } from './folder.ts';

it.each([
  [
    'models.providers.a.baseUrl',
    (url: string) => ({
      models: { providers: { a: { api: 'openai-completions', baseUrl: url } } },
    }),
  ],
  [
    'channels.webhook.accounts.a.url',
    (url: string) => ({
      channels: { webhook: { accounts: { a: { secret: 'x'.repeat(24), url } } } },
    }),
  ],
])('bug: a login in %s reached errors, and no request did', (path, settings) => {
  const found = problemsOf(JSON.stringify(settings('http://ann:hunter2@127.0.0.1:1/v1')));
  expect(found).toMatchObject([
    { path, allowed: 'an http:// or https:// URL without a user name or password' },
  ]);
  expect(JSON.stringify(found)).not.toContain('hunter2');
  for (const url of ['http://127.0.0.1', 'https://h:1/a@b?c=d@e', 'http://[::1]:1/v1'])
    expect(problemsOf(JSON.stringify(settings(url)))).toEqual([]);
});
