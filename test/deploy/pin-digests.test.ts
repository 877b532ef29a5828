/** `tools/pin-digests.mjs` against a registry on this machine. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { root } from '../../tools/install.mjs';
import { scratchFolder, write } from '../runtime/config/folder.ts';

const files = [
  'deploy/Dockerfile',
  'docker-compose.yml',
  'deploy/gateways.yml',
  'deploy/images.json',
];

/** The files with images, in a folder of their own. */
function copiedFiles(): string {
  const folder = scratchFolder();
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    copyFileSync(join(root, file), join(folder, file));
  }
  return folder;
}

const manifestOf = (path: string): string => JSON.stringify({ schemaVersion: 2, of: path });
const digestOf = (text: string): string =>
  `sha256:${createHash('sha256').update(text).digest('hex')}`;

/** Manifests of every name, for callers with a token, as Docker's registry. */
async function registry(digest?: string): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://registry');
    if (url.pathname === '/token') {
      response.end(JSON.stringify({ token: `for ${url.searchParams.get('scope')}` }));
      return;
    }
    const [, repository] = /^\/v2\/(.+)\/manifests\/[\w.-]+$/.exec(url.pathname) ?? [];
    if (repository === undefined) {
      response.writeHead(404).end();
    } else if (request.headers.authorization !== `Bearer for repository:${repository}:pull`) {
      const challenge = `Bearer realm="${base()}/token",service="here"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
    } else {
      const text = manifestOf(url.pathname);
      response.setHeader('docker-content-digest', digest ?? digestOf(text));
      response.end(text);
    }
  });
  const base = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return base();
}

const pin = (...args: string[]) =>
  promisify(execFile)(process.execPath, [join(root, 'tools/pin-digests.mjs'), ...args]).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, text: stderr }),
  );

const read = (folder: string): string =>
  files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');

describe('digests of images', () => {
  it('are asked from the registry, written everywhere, and replaced the next time', async () => {
    const folder = copiedFiles();
    const unpinned = read(folder);
    expect((await pin('--check', '--root', folder)).code).toBe(1);
    const own = write(
      folder,
      'own.json',
      JSON.stringify({ 'troupe:0.1.0': digestOf('own'), troupe: digestOf('own') }),
    );
    const pinned = await pin('--root', folder, '--registry', await registry(), '--digests', own);
    expect(pinned).toMatchObject({ code: 0 });
    const nats = digestOf(manifestOf('/v2/library/nats/manifests/2.12-alpine'));
    const text = read(folder);
    expect(text.match(new RegExp(`nats:2\\.12-alpine@${nats}`, 'g'))).toHaveLength(2);
    const grafana = digestOf(manifestOf('/v2/grafana/grafana/manifests/12.1.1'));
    expect(text).toContain(`grafana/grafana:12.1.1@${grafana}\n`);
    expect(text.match(/^FROM node:\S+@sha256:[0-9a-f]{64}/gm)).toHaveLength(2);
    expect(text).toContain(`"troupe:0.1.0@${digestOf('own')}"`);
    expect((await pin('--check', '--root', folder)).code).toBe(0);
    // nothing but digests was written
    expect(text.replaceAll(/@sha256:[0-9a-f]{64}/g, '')).toBe(unpinned);

    const newer = { 'nats:2.12-alpine': digestOf('newer') };
    const given = write(folder, 'newer.json', JSON.stringify(newer));
    expect(
      (await pin('--root', folder, '--registry', await registry(), '--digests', given)).code,
    ).toBe(0);
    expect(read(folder)).toContain(`nats:2.12-alpine@${digestOf('newer')}`);
    expect(read(folder)).not.toContain(nats);
  });

  it('of other bytes than the registry names are refused, and nothing is written', async () => {
    const folder = copiedFiles();
    const before = read(folder);
    const lying = await registry(digestOf('other bytes'));
    const refused = await pin('--root', folder, '--registry', lying);
    expect(refused.code).toBe(1);
    expect(refused.text).toContain('sent the bytes of');
    expect(read(folder)).toBe(before);
  });
});
