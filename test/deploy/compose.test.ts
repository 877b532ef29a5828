/**
 * The environment that docker-compose.yml gives its containers, without an engine: the keys that
 * its service creates fit the shipped configuration.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openArtifacts } from '../../installation/artifact-bucket.ts';
import { loadConfig } from '../../runtime/config/index.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';

const shipped = (name: string): string =>
  readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

/** Folders of this machine in place of the containers' folders. */
const placed = (text: string, folder: string): string =>
  text.replace(/(?<![\w.])\/(keys|token|artifacts)\b/g, (_, name: string) => join(folder, name));

/** Runs the service `keys` like its container does. */
function makeKeys(folder: string, token = ''): void {
  for (const name of ['keys', 'token']) mkdirSync(join(folder, name), { recursive: true });
  const block = /^ {6}- \|\n((?: {8}.*\n)+)/m.exec(shipped('docker-compose.yml'))?.[1];
  expect(block).toBeDefined();
  const script = placed(block!.replaceAll('$$', '$'), folder);
  execFileSync('sh', ['-ec', script], { env: { PATH: process.env['PATH'], TROUPE_TOKEN: token } });
}

const read = (folder: string, name: string): string => readFileSync(join(folder, name), 'utf8');

describe('the service keys', () => {
  it('creates keys that the shipped configuration accepts, and only once', async () => {
    const folder = scratchFolder();
    makeKeys(folder);
    const file = write(folder, 'troupe.json5', placed(shipped('deploy/troupe.json5'), folder));
    const { config } = loadConfig({ env: {}, home: folder, file });
    expect(config.gateway.auth.token?.reveal()).toMatch(/^[0-9a-f]{64}$/);
    const artifacts = await openArtifacts(config);
    const contents = Buffer.from('{}');
    const options = { contentType: 'application/json' };
    const { hash } = await artifacts.put('default', contents, options);
    expect(read(folder, `artifacts/default/${hash.slice(0, 2)}/${hash}`)).toContain('"sealed"');

    const made = [read(folder, 'keys/artifacts.key'), read(folder, 'token/gateway')];
    makeKeys(folder);
    expect([read(folder, 'keys/artifacts.key'), read(folder, 'token/gateway')]).toEqual(made);
    expect(statSync(join(folder, 'keys/artifacts.key')).mode & 0o777).toBe(0o400);
  });

  it('uses the operator’s token, whatever was stored', () => {
    const folder = scratchFolder();
    makeKeys(folder);
    const key = read(folder, 'keys/artifacts.key');
    makeKeys(folder, 'my own "token" $HOME');
    expect(read(folder, 'token/gateway')).toBe('my own "token" $HOME');
    makeKeys(folder);
    expect(read(folder, 'token/gateway')).toBe('my own "token" $HOME');
    expect(read(folder, 'keys/artifacts.key')).toBe(key);
  });
});

it('the common address forwards to every gateway, and gateways publish no other port', () => {
  const override = shipped('deploy/gateways.yml');
  const services = [...override.matchAll(/^ {2}([\w-]+):\n((?: {4}.*\n|\n)*)/gm)];
  const gateways = services.filter(([, name]) => name !== 'address');
  const known = [...shipped('deploy/haproxy.cfg').matchAll(/^ {2}server (\S+) "(\S+):/gm)];
  expect(known.map(([, name]) => name)).toEqual(gateways.map(([, name]) => name));
  for (const [, name, host] of known) expect(host).toBe(name);
  for (const [, , body] of gateways) expect(body).toContain('ports: !reset []');
  expect(gateways.length).toBeGreaterThanOrEqual(2);
  expect(services.at(-1)![2]).toMatch(/ports: \["127\.0\.0\.1:/);
});

// Bug: the alarm on a full store counted 20 GB as 20,000,000,000 bytes, and the server as 20 GiB.
it.each([
  ['deploy/nats.conf', 'deploy/troupe.json5'],
  ['deploy/kubernetes/nats.yaml', 'deploy/kubernetes/troupe.yaml'],
])('%s and %s have one limit of the store', (server, processes) => {
  const gigabytes = /max_file_store: (\d+)GB/.exec(shipped(server))![1];
  const bytes = /storageBytes: (\d+)/.exec(shipped(processes))![1];
  expect(Number(bytes)).toBe(Number(gigabytes) * 2 ** 30);
});
