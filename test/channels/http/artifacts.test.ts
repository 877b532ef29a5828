/** Files over real HTTP: a real server, a real folder, real sockets. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Caller, Credentials } from '../../../channels/edge/edge.ts';
import { artifactRoutes } from '../../../channels/http/artifacts.ts';
import { routeListener } from '../../../channels/http/listener.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { openFolderArtifacts } from '../../../runtime/artifacts/folder.ts';
import type { Artifacts } from '../../../runtime/index.ts';
import { MovableClock } from '../../runtime/artifacts/contract.ts';

const TENANTS: Record<string, string> = { 'Bearer a': 'acme', 'Bearer b': 'beta' };
const authenticate = async ({ authorization = '' }: Credentials): Promise<Caller> => {
  const tenant = TENANTS[authorization];
  if (!tenant) throw new TroupeError('UNAUTHORIZED', 'this token is not known');
  return { sub: 'p', roles: [], tenant, profile: 'A2A-Basic' };
};
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
type Stored = { artifact_uri: string; artifact_hash: string; content_type: string; bytes: number };
type Refused = { error: { code: string; message: string } };

let server: Server;
let base: string;
let folder: string;
let clock: MovableClock;
let artifacts: Artifacts;
let faults: object[];
const open = (publicUrl: () => string) =>
  openFolderArtifacts({ path: folder, publicUrl, mimeTypes: ['text/plain', 'image/png'], clock });

beforeEach(async () => {
  faults = [];
  folder = mkdtempSync(join(tmpdir(), 'troupe-artifact-routes-'));
  clock = new MovableClock();
  artifacts = await open(() => base);
  const routes = artifactRoutes({ artifacts, authenticate, publicUrl: () => base });
  const listener = routeListener({ routes, log: { error: (facts) => faults.push(facts) } });
  server = createServer((request, response) => {
    if (!listener(request, response)) response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
  if (faults.length > 0) throw new Error(`a route failed: ${JSON.stringify(faults)}`);
});

const send = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  fetch(`${base}/v1/artifacts`, {
    method: 'POST',
    body,
    headers: { authorization: 'Bearer a', 'content-type': 'text/plain', ...headers },
  });
const stored = async (text = 'a file') => (await (await send(text)).json()) as Stored;
const refusal = async (answer: Response): Promise<[number, string]> => [
  answer.status,
  ((await answer.json()) as Refused).error.code,
];
const fetched = (uri: string, init?: RequestInit) => fetch(uri, init);

describe('files over HTTP', () => {
  it('are stored by POST, and read by the returned URL without a token', async () => {
    const answer = await send('a file', { 'x-artifact-sha256': sha256('a file') });
    expect(answer.status).toBe(201);
    const ref = (await answer.json()) as Stored;
    expect(ref).toMatchObject({
      artifact_hash: sha256('a file'),
      content_type: 'text/plain',
      bytes: 6,
    });
    const file = await fetched(ref.artifact_uri);
    expect([file.status, await file.text()]).toEqual([200, 'a file']);
    expect(Object.fromEntries(file.headers)).toMatchObject({
      'content-type': 'text/plain',
      'content-length': '6',
      'content-disposition': `attachment; filename="${ref.artifact_hash}"`,
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      etag: `"${ref.artifact_hash}"`,
    });
  });

  it('keep every byte of 20 MB', async () => {
    const large = new Uint8Array(20_000_000).map((_, at) => (at * 7) % 251);
    const { artifact_uri: uri, bytes } = (await (
      await send(large, { 'content-type': 'image/png' })
    ).json()) as Stored;
    expect(bytes).toBe(20_000_000);
    const back = new Uint8Array(await (await fetched(uri)).arrayBuffer());
    expect(Buffer.compare(back, large)).toBe(0);
  });

  it('answer HEAD with the headers of GET, and 304 to a client that has the file', async () => {
    const { artifact_uri: uri, artifact_hash: hash } = await stored();
    const head = await fetched(uri, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      '6',
      '',
    ]);
    const same = await fetched(uri, { headers: { 'if-none-match': `"${hash}"` } });
    expect([same.status, await same.text()]).toEqual([304, '']);
  });

  it('are refused under an expired URL, which can be signed again', async () => {
    const { artifact_uri: uri, artifact_hash: hash } = await stored();
    clock.aheadMs = 901_000;
    expect(await refusal(await fetched(uri))).toEqual([410, 'EXPIRED']);
    const headers = { authorization: 'Bearer a' };
    const fresh = await fetch(`${base}/v1/artifacts/${hash}/sign`, { method: 'POST', headers });
    expect(fresh.status).toBe(200);
    const ref = (await fresh.json()) as Stored;
    expect(ref).toMatchObject({ artifact_hash: hash, content_type: 'text/plain' });
    expect((await fetched(ref.artifact_uri)).status).toBe(200);
  });

  it('are refused under a changed URL', async () => {
    const { artifact_uri: uri, artifact_hash: hash } = await stored();
    const { artifact_hash: other } = await stored('another file');
    const changed = [
      uri.replace(/sig=./, (text) => (text.endsWith('A') ? 'sig=B' : 'sig=A')),
      uri.replace(/exp=\d/, 'exp=9'),
      uri.replace(hash, other),
      uri.replace('/acme/', '/beta/'),
      uri.replace(/&sig=.*/, ''),
      `${uri}&more=1`,
      uri.split('?', 1)[0]!,
    ];
    for (const one of changed)
      expect(await refusal(await fetched(one))).toEqual([403, 'FORBIDDEN']);
  });

  it('of a tenant are not available to another', async () => {
    const { artifact_hash: hash } = await stored();
    const headers = { authorization: 'Bearer b' };
    const signed = await fetch(`${base}/v1/artifacts/${hash}/sign`, { method: 'POST', headers });
    expect(await refusal(signed)).toEqual([404, 'NOT_FOUND']);
  });

  it('require a token for upload', async () => {
    for (const authorization of ['', 'Bearer x']) {
      expect(await refusal(await send('a', { authorization }))).toEqual([401, 'UNAUTHORIZED']);
      const path = `${base}/v1/artifacts/${sha256('a')}/sign`;
      const signed = await fetch(path, { method: 'POST', headers: { authorization } });
      expect(await refusal(signed)).toEqual([401, 'UNAUTHORIZED']);
    }
  });

  it.each([
    ['another hash than was announced', { 'x-artifact-sha256': sha256('other') }],
    ['a type that is not on the list', { 'content-type': 'text/html' }],
    ['no type', { 'content-type': '' }],
  ])('are refused with %s, and the connection stays usable', async (_, headers) => {
    expect(await refusal(await send('a file', headers))).toEqual([400, 'INVALID_ARGUMENT']);
    expect((await send('a file')).status).toBe(201);
  });

  it('are refused from a form on another site’s page', async () => {
    expect(await refusal(await send('a', { origin: 'http://evil.example' }))).toEqual([
      403,
      'FORBIDDEN',
    ]);
    expect((await send('a', { origin: base })).status).toBe(201);
  });

  it('that are too large or of unknown size are refused before they are read', async () => {
    const head = 'POST /v1/artifacts HTTP/1.1\r\nhost: h\r\nauthorization: Bearer a\r\n';
    const large = await raw(`${head}content-length: 104857601\r\n\r\n`);
    expect(large).toMatch(/^HTTP\/1\.1 413 .*"code":"PAYLOAD_TOO_LARGE"/s);
    const chunked = await raw(`${head}transfer-encoding: chunked\r\n\r\n`);
    expect(chunked).toMatch(/^HTTP\/1\.1 400 .*content-length/s);
  });

  it('that end early are not stored', async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(
      'POST /v1/artifacts HTTP/1.1\r\nhost: h\r\nauthorization: Bearer a\r\n' +
        'content-type: text/plain\r\ncontent-length: 6\r\n\r\na fi',
    );
    socket.end();
    await new Promise((resolve) => socket.once('close', resolve).resume());
    expect((await send('next')).status).toBe(201);
    await expect(artifacts.get('acme', sha256('a fi'))).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  it('in transit are bounded by their bytes, and there is room again afterwards', async () => {
    const head =
      'POST /v1/artifacts HTTP/1.1\r\nhost: h\r\nauthorization: Bearer a\r\n' +
      'content-type: text/plain\r\ncontent-length: 104857600\r\n\r\n';
    const { port } = server.address() as AddressInfo;
    const ofB = head.replace('Bearer a', 'Bearer b');
    const sockets = [head, head, ofB].map((text) => {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      socket.write(text);
      return socket;
    });
    const full = await settled(429, () => send('a file'));
    expect(full.headers.get('retry-after')).toBe('2');
    // A slow tenant leaves room for others.
    await settled(201, () => send('a file', { authorization: 'Bearer b' }));
    for (const socket of sockets) socket.destroy();
    await settled(201, () => send('a file'));
  });

  it('are read from the bucket a few at a time, whatever the number of requests', async () => {
    const { artifact_uri } = await stored();
    const get = artifacts.get.bind(artifacts);
    let reading = 0;
    let most = 0;
    let continueAll = () => {};
    const fourRead = new Promise<void>((resolve) => (continueAll = resolve));
    artifacts.get = async (...file) => {
      most = Math.max(most, ++reading);
      if (reading === 4) setTimeout(continueAll, 20);
      await fourRead;
      return get(...file).finally(() => reading--);
    };
    const answers = await Promise.all(Array.from({ length: 40 }, () => fetched(artifact_uri)));
    for (const answer of answers) expect(await answer.text()).toBe('a file');
    expect(most).toBe(4);
    expect(reading).toBe(0);
  });

  it('cannot be changed, removed or listed', async () => {
    const { artifact_uri: uri } = await stored();
    const headers = { authorization: 'Bearer a' };
    for (const method of ['PUT', 'DELETE', 'POST', 'PATCH'])
      expect((await fetch(uri, { method, headers })).status).toBe(405);
    for (const path of ['/v1/artifacts', '/v1/artifacts?list-type=2'])
      expect((await fetch(base + path, { headers })).status).toBe(405);
    for (const path of ['/v1/artifacts/', '/v1/artifacts/acme', '/v1/artifacts/acme/'])
      expect([403, 404]).toContain((await fetch(base + path, { headers })).status);
    expect(await (await fetched(uri)).text()).toBe('a file');
  });

  it('are found by a URL that another gateway of the same folder signed for this one', async () => {
    const { artifact_hash: hash } = await stored();
    const { port } = server.address() as AddressInfo;
    const other = await open(() => `http://localhost:${port}`);
    const { artifact_uri: uri } = await other.sign('acme', hash);
    expect((await fetched(uri)).status).toBe(200);
    expect((await fetched(uri.replace('localhost', '127.0.0.1'))).status).toBe(403);
  });
});

/** Repeats an idempotent request until its answer has the status. */
async function settled(status: number, ask: () => Promise<Response>): Promise<Response> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const answer = await ask();
    await answer.arrayBuffer();
    if (answer.status === status) return answer;
    if (performance.now() > deadline) throw new Error(`still ${answer.status}, and not ${status}`);
  }
}

/** The answer of a raw socket to exactly these bytes. */
function raw(bytes: string): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  return new Promise((resolve, reject) => {
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    socket.once('close', () => resolve(text)).once('error', reject);
    socket.write(bytes);
  });
}
