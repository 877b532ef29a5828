#!/usr/bin/env node
/**
 * Writes digests behind the names of images, at a release:
 *
 *   node tools/pin-digests.mjs                    asks the registry of each image
 *   node tools/pin-digests.mjs --digests FILE     JSON of name -> sha256:…, for those that it names
 *   node tools/pin-digests.mjs --check            changes nothing; exits with 1 if one has none
 *
 * `--registry URL` asks another registry for all of them, such as a mirror. `--root DIR` changes
 * the files of another checkout. A name without a host is of docker.io. The own image, `troupe`, is
 * in no registry before it is pushed: its digest comes from FILE, or is left out.
 *
 * A digest is that of the list of all platforms, and is checked against the bytes that the registry
 * sent. When one cannot be had, nothing is written.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './install.mjs';

/** Files with names of images; the generated files of deploy/ follow from the last. */
const files = [
  'deploy/Dockerfile',
  'docker-compose.yml',
  'deploy/gateways.yml',
  'deploy/images.json',
];

const accepted = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const ANSWER_MS = 30_000;

/** Names of images in a Dockerfile, a compose file or images.json, with what is around them. */
const places =
  /(^FROM +|^ *image: +|^ *"[a-z-]+": +")([a-z0-9][\w./:-]*)(@sha256:[0-9a-f]{64})?(?=["\s]|$)/gm;

const isOwn = (name) => /^troupe(:|$)/.test(name);

function imagesIn(folder) {
  const found = new Map();
  for (const file of files.filter((name) => existsSync(join(folder, name)))) {
    const text = readFileSync(join(folder, file), 'utf8');
    // A stage of the same Dockerfile is no image.
    const stages = [...text.matchAll(/^FROM .* AS (\S+)/gim)].map(([, stage]) => stage);
    for (const [, , name, digest] of text.matchAll(places))
      if (!stages.includes(name)) found.set(name, digest?.slice(1));
  }
  return found;
}

/** Host, repository and tag of a name, as Docker reads it. */
function partsOf(name) {
  const [, host, path] = /^((?:[^/]*[.:][^/]*|localhost)(?=\/))?\/?(.+)$/.exec(name);
  const [repository, tag = 'latest'] = path.split(':');
  if (host !== undefined) return { host, repository, tag };
  const full = repository.includes('/') ? repository : `library/${repository}`;
  return { host: 'registry-1.docker.io', repository: full, tag };
}

async function digestOf(name, registry) {
  const { host, repository, tag } = partsOf(name);
  const url = `${registry ?? `https://${host}`}/v2/${repository}/manifests/${tag}`;
  let response = await ask(url, { accept: accepted });
  if (response.status === 401) {
    const token = await tokenFor(response.headers.get('www-authenticate') ?? '', repository);
    response = await ask(url, { accept: accepted, authorization: `Bearer ${token}` });
  }
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  const named = response.headers.get('docker-content-digest');
  if (named !== null && named !== digest)
    throw new Error(`${url} names ${named} and sent the bytes of ${digest}`);
  return digest;
}

const ask = (url, headers) => fetch(url, { headers, signal: AbortSignal.timeout(ANSWER_MS) });

/** A token to read a public image, from the server that the registry names. */
async function tokenFor(challenge, repository) {
  const { realm, service } = Object.fromEntries(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
  );
  if (realm === undefined) throw new Error(`the registry refuses ${repository}: ${challenge}`);
  const url = new URL(realm);
  if (service !== undefined) url.searchParams.set('service', service);
  url.searchParams.set('scope', `repository:${repository}:pull`);
  const response = await ask(url, {});
  if (!response.ok) throw new Error(`${url.origin} gives no token: ${response.status}`);
  const { token, access_token: other } = await response.json();
  return token ?? other;
}

function writeDigests(folder, digests) {
  for (const file of files.filter((name) => existsSync(join(folder, name)))) {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    const pinned = text.replace(places, (all, before, name) =>
      digests.has(name) ? `${before}${name}@${digests.get(name)}` : all,
    );
    if (pinned !== text) writeFileSync(path, pinned);
  }
}

async function digestsOf(names, { given, registry }) {
  const digests = new Map();
  for (const name of names) {
    const digest = given[name] ?? (isOwn(name) ? undefined : await digestOf(name, registry));
    if (digest === undefined) continue;
    if (!DIGEST.test(digest)) throw new Error(`${name}: ${digest} is no digest`);
    digests.set(name, digest);
  }
  return digests;
}

async function main() {
  const { values } = parseArgs({
    options: {
      check: { type: 'boolean' },
      digests: { type: 'string' },
      registry: { type: 'string' },
      root: { type: 'string', default: root },
    },
  });
  const images = imagesIn(values.root);
  if (values.check) {
    const without = [...images].filter(([, digest]) => digest === undefined);
    for (const [name] of without) console.error(`${name} has no digest`);
    return without.length === 0 ? 0 : 1;
  }
  const given = values.digests ? JSON.parse(readFileSync(values.digests, 'utf8')) : {};
  const digests = await digestsOf([...images.keys()], { given, registry: values.registry });
  writeDigests(values.root, digests);
  for (const [name, digest] of digests) console.log(`${name}@${digest}`);
  if (values.root !== root) return 0;
  const generate = [join('tools', 'run.mjs'), 'tools/generate-kubernetes.ts'];
  return spawnSync(process.execPath, generate, { cwd: root, stdio: 'inherit' }).status ?? 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`pin-digests: ${error.message}`);
  process.exitCode = 1;
}
