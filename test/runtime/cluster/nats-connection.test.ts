import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectNats, type NatsOptions } from '../../../runtime/cluster/nats-connection.ts';
import { hasOpenssl, makeCertificates } from '../../servers/certificates.ts';
import { describeOnNats } from '../../servers/describe-on-nats.ts';
import { type NatsServer, startNats } from '../../servers/nats.ts';
import { startTcpProxy } from '../../../loadtest/faults/tcp-proxy.ts';
import { eventually } from '../eventually.ts';

const words: string[] = [];
const open: NatsConnection[] = [];
const running: NatsServer[] = [];

const start = async (options: Parameters<typeof startNats>[0]): Promise<NatsServer> => {
  const server = await startNats(options);
  running.push(server);
  return server;
};
const dial = async (options: NatsOptions): Promise<NatsConnection> => {
  const nc = await connectNats({ onStatus: (what) => words.push(what), ...options });
  open.push(nc);
  return nc;
};
const failure = (options: NatsOptions): Promise<unknown> =>
  connectNats({ signal: AbortSignal.timeout(15_000), ...options }).then(
    (nc) => nc.close().then(() => 'connected'),
    (error: unknown) => error,
  );

afterEach(async () => {
  for (const nc of open.splice(0)) await nc.close();
  for (const server of running.splice(0)) await server.stop();
  words.length = 0;
});

describe('connectNats', () => {
  it.each([
    ['http://127.0.0.1:80', /not an address of a NATS server/],
    ['ws://127.0.0.1:80', /not an address of a NATS server/],
    ['nats://', /not an address of a NATS server/],
    ['nats://host:70000', /not an address of a NATS server/],
    ['nats://a b', /not an address of a NATS server/],
  ])('refuses the address %s at once', async (server, message) => {
    expect(await failure({ servers: [server] })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(message),
    });
  });

  it('never shows the password of a URL', async () => {
    const error = await failure({ servers: ['nats://me:secret@127.0.0.1:4222'] });
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(String(error)).not.toContain('secret');
  });

  it('refuses an empty list of servers, a missing file, and a file without credentials', async () => {
    const refusal = { code: 'INVALID_ARGUMENT' };
    const server = ['127.0.0.1:1'];
    expect(await failure({ servers: [] })).toMatchObject(refusal);
    expect(await failure({ servers: server, credsFile: '/nowhere' })).toMatchObject(refusal);
    expect(await failure({ servers: server, nkeySeedFile: import.meta.filename })).toMatchObject(
      refusal,
    );
    expect(await failure({ servers: server, credsFile: import.meta.filename })).toMatchObject(
      refusal,
    );
    expect(await failure({ servers: server, tls: { caFile: '/nowhere' } })).toMatchObject(refusal);
  });

  it('reports that the peer is not a NATS server', async () => {
    const other = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    expect(await failure({ servers: [`127.0.0.1:${port}`] })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('not a NATS server'),
    });
    await new Promise((resolve) => other.close(resolve));
  });

  it('stops waiting for a missing server when it is aborted', async () => {
    const asked = new AbortController();
    const waiting = connectNats({
      servers: ['127.0.0.1:1'],
      signal: asked.signal,
      onStatus: (what) => words.push(what),
    });
    await eventually(() => expect(words).toEqual([expect.stringContaining('does not answer')]));
    asked.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});

describeOnNats('connectNats', ({ path }) => {
  it('waits for a server that starts later', async () => {
    const first = await startNats({ path });
    await first.stop();
    const connecting = dial({ servers: [first.url] });
    await eventually(() => expect(words).toHaveLength(1));
    await start({ path, port: first.port });
    expect((await connecting).info?.port).toBe(first.port);
  });

  it('reconnects after the server was killed, and reports the loss and the return', async () => {
    const server = await start({ path });
    const nc = await dial({ servers: [server.url], name: 'me' });
    await server.kill('SIGKILL');
    await eventually(() => expect(words).toContainEqual(expect.stringContaining('is lost')));
    await start({ path, port: server.port, folder: server.folder });
    await eventually(() => expect(words).toContainEqual(expect.stringContaining('again, at')));
    await nc.flush();
    expect(words.filter((what) => what.includes('is lost'))).toHaveLength(1);
  });

  it('detects a dead connection within seconds', async () => {
    const server = await start({ path });
    const proxy = await startTcpProxy(server.port);
    const nc = await dial({ servers: [`127.0.0.1:${proxy.port}`] });
    proxy.pause();
    await eventually(() => expect(words).toContainEqual(expect.stringContaining('pings')));
    proxy.resume();
    await eventually(() => expect(words).toContainEqual(expect.stringContaining('again, at')));
    await nc.close();
    await proxy.close();
  });

  it('refuses wrong credentials at once, accepts the right ones, and prints neither', async () => {
    const config = 'authorization { user: me, password: rightpw }';
    const server = await start({ path, config });
    const wrong = await failure({ servers: [server.url], user: 'me', pass: 'wrongpw' });
    expect(wrong).toMatchObject({ code: 'UNAUTHORIZED' });
    expect(String(wrong)).not.toContain('wrongpw');
    expect(await failure({ servers: [server.url] })).toMatchObject({ code: 'UNAUTHORIZED' });
    await dial({ servers: [server.url], user: 'me', pass: 'rightpw' });
  });

  it('keeps trying when a restarted server refuses the credentials', async () => {
    const right = 'authorization { token: one }';
    const server = await start({ path, config: right });
    const nc = await dial({ servers: [server.url], token: 'one' });
    await server.kill('SIGKILL');
    const place = { path, port: server.port, folder: server.folder };
    const other = await start({ ...place, config: 'authorization { token: two }' });
    const refusals = () => words.filter((what) => what.includes('refuses the credentials'));
    await eventually(() => expect(refusals().length).toBeGreaterThan(2));
    await other.stop();
    await start({ ...place, config: right });
    await eventually(() => expect(words.at(-1)).toContain('again, at'));
    expect(nc.isClosed()).toBe(false);
  });

  describe.skipIf(!hasOpenssl)('with TLS (skipped where openssl is not installed)', () => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-tls-'));
    const at = (file: string) => join(folder, file);
    const tls = { caFile: at('ca.pem') };
    beforeAll(() => makeCertificates(folder));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));
    const config = (verify: boolean) =>
      `tls { cert_file: "${at('cert.pem')}", key_file: "${at('key.pem')}", ` +
      `ca_file: "${at('ca.pem')}", verify: ${verify}, timeout: 5 }`;

    it('connects with a trusted CA, and refuses an unknown certificate', async () => {
      const server = await start({ path, config: config(false) });
      const urls = [`tls://127.0.0.1:${server.port}`];
      const nc = await dial({ servers: urls, tls });
      await nc.flush();
      expect(await failure({ servers: urls, tls: {} })).toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('TLS'),
      });
    });

    it('sends its client certificate, and reports when one is required', async () => {
      const server = await start({ path, config: config(true) });
      const own = { ...tls, certFile: at('cert.pem'), keyFile: at('key.pem') };
      await (await dial({ servers: [server.url], tls: own })).flush();
      const asked = new AbortController();
      const waiting = failure({
        servers: [server.url],
        tls,
        signal: asked.signal,
        onStatus: (what) => words.push(what),
      });
      await eventually(() => expect(words[0]).toContain('requires a client certificate'));
      asked.abort();
      expect(await waiting).toMatchObject({ code: 'CANCELLED' });
    });

    it('refuses a server without TLS when TLS is required', async () => {
      const server = await start({ path });
      expect(await failure({ servers: [server.url], tls })).toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    });
  });
});
