import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { post } from '../../../actors/notification/webhook.ts';
import { address } from '../../../protocols/address.ts';
import type { EffectContext } from '../../../runtime/index.ts';

type Got = { readonly headers: IncomingMessage['headers']; readonly body: string };

let server: Server;
let got: Got[];
let status: number;
const url = (path = '/hook') => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;

beforeEach(async () => {
  got = [];
  status = 204;
  server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (part: string) => (body += part));
    request.on('end', () => {
      got.push({ headers: request.headers, body });
      response.writeHead(status, { location: url('/elsewhere') }).end('x'.repeat(1_000));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

const body = { notification_id: 'n1', to: 'ada', text: 'hello' };
const context = (allowPrivate: boolean): EffectContext => ({
  id: 'effect-1',
  attempt: 1,
  actor: address('default', 'notification', 'n1'),
  signal: new AbortController().signal,
  publish: () => {},
  now: () => Date.now(),
  services: { notifier: { allowPrivate } },
  transcript: () => {
    throw new Error('not part of this test');
  },
  index: () => Promise.reject(new Error('not part of this test')),
  past: () => Promise.reject(new Error('not part of this test')),
  row: () => Promise.reject(new Error('not part of this test')),
  workspace: () => Promise.reject(new Error('not part of this test')),
  peek: () => Promise.reject(new Error('not part of this test')),
});

describe('a notification that is posted', () => {
  it('arrives as JSON under the same key for all attempts', async () => {
    expect(await post({ url: url(), body }, context(true))).toEqual({ status: 204 });
    expect(JSON.parse(got[0]!.body)).toEqual(body);
    expect(got[0]!.headers).toMatchObject({
      'content-type': 'application/json',
      'idempotency-key': 'effect-1',
    });
  });

  it.each([
    [404, 'INVALID_ARGUMENT'],
    [302, 'INVALID_ARGUMENT'],
    [429, 'UNAVAILABLE'],
    [503, 'UNAVAILABLE'],
  ])('that is answered with %i fails as %s, and no redirect is followed', async (answer, code) => {
    status = answer;
    await expect(post({ url: url(), body }, context(true))).rejects.toMatchObject({ code });
    expect(got).toHaveLength(1);
  });

  it('may be retried when the receiver does not respond', async () => {
    const gone = url();
    await new Promise((resolve) => server.close(resolve));
    await expect(post({ url: gone, body }, context(true))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  it.each([
    'http://127.0.0.1',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://localhost',
    'http://0x7f.1',
  ])('is never sent to %s unless private addresses are allowed', async (origin) => {
    const { port } = server.address() as AddressInfo;
    await expect(
      post({ url: `${origin}:${port}/hook`, body }, context(false)),
    ).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(got).toEqual([]);
  });

  it.each(['file:///etc/passwd', 'ftp://example.org/', 'http://ada:secret@127.0.0.1/', 'hook'])(
    'is not sent to the invalid URL %s',
    async (to) => {
      await expect(post({ url: to, body }, context(true))).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    },
  );
});
