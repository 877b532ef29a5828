/** A gateway with a certificate of its own, as a process, and the commands that connect to it. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { connect, type ConnectionOptions } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { announced, runProgram, type Started, startProgram } from '../cli/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { hasOpenssl, makeCertificates } from '../servers/certificates.ts';
import { reservePort } from '../servers/reserve-port.ts';

const START_MS = 60_000;
/** Open while the certificate changes. */
const SOCKETS = 20;

/** A folder with a CA and a certificate, and what it is recognized by. */
function certificates(days?: number) {
  const folder = scratchFolder();
  makeCertificates(folder, days === undefined ? {} : { days });
  const { fingerprint256 } = new X509Certificate(readFileSync(join(folder, 'cert.pem')));
  return { folder, ca: readFileSync(join(folder, 'ca.pem')), fingerprint256 };
}

/** A data folder whose gateway has the certificate that a symbolic link leads to. */
async function homeOf(first: string) {
  const home = scratchFolder();
  const link = join(home, 'certificate');
  const switchTo = (folder: string) => {
    symlinkSync(folder, `${link}.new`);
    renameSync(`${link}.new`, link);
  };
  switchTo(first);
  const tls = { certFile: 'certificate/cert.pem', keyFile: 'certificate/key.pem' };
  const port = await reservePort();
  write(home, 'troupe.json5', JSON.stringify({ gateway: { port, tls }, log: { level: 'info' } }));
  return { home, port, switchTo, env: { TROUPE_HOME: home } };
}

/** The fingerprint of the certificate that a new connection gets. */
function servedAt(port: number, ca: Buffer, options: ConnectionOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ca, ...options }, () => {
      resolve(socket.getPeerX509Certificate()!.fingerprint256);
      socket.destroy();
    }).on('error', reject);
  });
}

async function openSocket(port: number, ca: Buffer): Promise<WebSocket> {
  const socket = new WebSocket(`wss://127.0.0.1:${port}/`, { ca });
  onTestFinished(() => socket.terminate());
  const [challenge] = (await once(socket, 'message')) as [Buffer];
  expect(JSON.parse(challenge.toString())).toMatchObject({ event: 'connect.challenge' });
  return socket;
}

function statusOf(url: string, ca: Buffer): Promise<number> {
  return new Promise((resolve, reject) =>
    request(url, { ca }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode!));
    })
      .on('error', reject)
      .end(),
  );
}

const logged = (program: Started, text: RegExp) =>
  eventually(() => expect(program.stderr).toMatch(text), 20_000);

describe.skipIf(!hasOpenssl)('gateway.tls (skipped where openssl is not installed)', () => {
  it('serves HTTPS and WSS, and uses changed files without closing connections', async () => {
    const [one, two] = [certificates(), certificates()];
    const { home, port, switchTo, env } = await homeOf(one.folder);
    const program = startProgram(['start', '--json'], { home, env });
    const { url } = await announced<{ readonly url: string }>(program, START_MS);
    expect(url).toContain(`https://127.0.0.1:${port}/`);
    expect(await statusOf(`https://127.0.0.1:${port}/readyz`, one.ca)).toBe(200);
    expect(await servedAt(port, one.ca)).toBe(one.fingerprint256);
    const old: ConnectionOptions = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' };
    await expect(servedAt(port, one.ca, { ...old, ciphers: 'ALL@SECLEVEL=0' })).rejects.toThrow(
      'alert protocol version',
    );
    const plain = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect(plain.status).toBe(400);
    expect(await plain.text()).toContain('use https:// or wss://');
    const sockets = await Promise.all(
      Array.from({ length: SOCKETS }, () => openSocket(port, one.ca)),
    );
    const areOpen = () =>
      Promise.all(
        sockets.map(async (socket) => {
          socket.ping();
          await once(socket, 'pong');
        }),
      );

    switchTo(two.folder);
    program.child.kill('SIGHUP');
    await logged(program, /certificate of the gateway changed: new connections use it/);
    expect(await servedAt(port, two.ca)).toBe(two.fingerprint256);
    await expect(servedAt(port, one.ca)).rejects.toThrow('unable to verify');
    await areOpen();

    writeFileSync(join(one.folder, 'key.pem'), 'not a key');
    switchTo(one.folder);
    program.child.kill('SIGHUP');
    await logged(program, /certificate of the gateway cannot be used, and the former one stays/);
    expect(await servedAt(port, two.ca)).toBe(two.fingerprint256);
    await areOpen();
    program.child.kill('SIGTERM');
    expect(await program.ended).toMatchObject({ code: 0 });

    const again = await startProgram(['start'], { home, env }).ended;
    expect(again.code).not.toBe(0);
    expect(again.stderr).toContain('gateway.tls cannot be used');
  });

  it('is found by commands, which trust it by NODE_EXTRA_CA_CERTS', async () => {
    const { folder } = certificates();
    const { home, env } = await homeOf(folder);
    await announced(startProgram(['start', '--json', '--port', '0'], { home, env }), START_MS);
    const run = (args: readonly string[], more = {}) =>
      runProgram(args, { home, env: { ...env, ...more } });
    const trusting = { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') };
    const answer = await run(['agent', '-m', 'hello', '--json'], trusting);
    expect(JSON.parse(answer.stdout)).toMatchObject({ status: 'ok' });
    const listed = await run(['dlq', 'list', '--json'], trusting);
    expect(listed).toMatchObject({ code: 0 });
    const refused = await run(['agent', '-m', 'hello']);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain('NODE_EXTRA_CA_CERTS=FILE');
    expect(await run(['health'])).toMatchObject({ code: 0, stdout: 'ready\n' });
    const { stdout } = await run(['doctor']);
    expect(stdout).toMatch(/ok +certificate: gateway.tls is valid until \d{4}-\d\d-\d\d/);
    expect(stdout).toMatch(/troupe runs at https:\/\/127\.0\.0\.1:\d+\/ and is ready/);
  });

  it('has its end shown by doctor, with a warning two weeks before', async () => {
    const { folder } = certificates(3);
    const { home, env } = await homeOf(folder);
    const soon = await runProgram(['doctor'], { home, env });
    expect(soon.stdout).toMatch(/warn +certificate: gateway.tls expires on /);
    const key = readFileSync(join(folder, 'key.pem'));
    const sealed = createPrivateKey(key).export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'secret',
    });
    const unusable = [
      [sealed, 'the key has a passphrase: remove it'],
      [readFileSync(join(certificates().folder, 'key.pem')), 'the key belongs to another certif'],
      ['not a key', 'the key is not PEM'],
    ] as const;
    for (const [content, reason] of unusable) {
      writeFileSync(join(folder, 'key.pem'), content);
      const started = await runProgram(['start'], { home, env });
      expect(started.code).not.toBe(0);
      expect(started.stderr).toContain(`gateway.tls cannot be used: ${reason}`);
      expect(started.stderr).not.toContain('stays in use');
      const { stdout } = await runProgram(['doctor'], { home, env });
      expect(stdout).toContain(`gateway.tls cannot be used: ${reason}`);
    }
    writeFileSync(join(folder, 'key.pem'), key);
    writeFileSync(join(folder, 'cert.pem'), 'broken');
    const broken = await runProgram(['doctor'], { home, env });
    expect(broken.stdout).toMatch(/fail +certificate: gateway.tls cannot be used/);
    expect(broken.code).toBe(1);
  });
});
