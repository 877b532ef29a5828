/**
 * Secrets of the channel `webhook`: a short one signs no request, so it is refused at the start.
 */
import { expect, it } from 'vitest';
import { load, problemsOf } from './folder.ts';

const configOf = (secret: unknown) =>
  JSON.stringify({ channels: { webhook: { accounts: { ci: { secret } } } } });
const path = 'channels.webhook.accounts.ci.secret';

it.each(['x'.repeat(23), 'whsec_c2hvcnQ=', `whsec_${Buffer.alloc(23).toString('base64')}`])(
  'bug: %s was refused only when a request came',
  (secret) => {
    const found = problemsOf(configOf({ env: 'KEY' }), { env: { KEY: secret } });
    expect(found).toMatchObject([
      { path, message: expect.stringMatching(/24 bytes: use `whsec_` with their base64/) },
    ]);
    expect(JSON.stringify(found)).not.toContain(secret);
  },
);

it('24 bytes, as text or as base64, are accepted', () => {
  expect(problemsOf(configOf('x'.repeat(24)))).toEqual([]);
  expect(problemsOf(configOf(`whsec_${Buffer.alloc(24).toString('base64')}`))).toEqual([]);
});

it('a command that does not read the secret does not check it', () => {
  const input = { env: {}, secretsWithin: '/gateway/auth' };
  expect(() => load(configOf({ env: 'KEY' }), input)).not.toThrow();
});
