/**
 * The permissions of a container for bubblewrap, without an engine: the image contains it, and the
 * override grants an existing service exactly what the documentation says.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { external } from '../../tools/build.mjs';

const shipped = (name: string): string =>
  readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

it('the override grants what the documentation lists, to workers only', () => {
  const override = shipped('deploy/sandbox.yml');
  const granted = [...override.matchAll(/^ {6}- (\S+)$/gm)].map(([, grant]) => grant);
  const page = shipped('docs/sandbox.md');
  const named = [...page.matchAll(/--security-opt (\S+)/g)].map(([, grant]) => grant);
  expect(granted).toEqual(named);
  expect(granted).toHaveLength(3);
  const services = [...override.matchAll(/^ {2}(\w+):$/gm)].map(([, service]) => service);
  expect(services).toEqual(['worker']);
  expect(shipped('docker-compose.yml')).toMatch(/^ {2}worker:$/m);
  expect(override).not.toMatch(/privileged|cap_add/);
});

it('the image and continuous integration have bubblewrap', () => {
  const [, image] = shipped('deploy/Dockerfile').split(/^FROM (?=.*$(?![^]*^FROM))/m);
  expect(image).toMatch(/apt-get install .*bubblewrap/);
  expect(shipped('.ci/run')).toContain('absent+=(bubblewrap)');
});

it('the image keeps the packages that the build does not bundle', () => {
  const { dependencies } = JSON.parse(shipped('package.json')) as {
    dependencies: Record<string, string>;
  };
  const kept = external.filter((name) => name in dependencies);
  expect(kept).toEqual(expect.arrayContaining(['esbuild', 'lmdb', 'msgpackr', 'playwright-core']));
  expect(shipped('deploy/Dockerfile')).toMatch(
    /import\('\.\/tools\/build\.mjs'\)[^]*external\.includes/,
  );
});

it('Chromium is installed by an argument that compose reads from the environment', () => {
  expect(shipped('deploy/Dockerfile')).toMatch(/^ARG CHROMIUM=$[^]*\$\{CHROMIUM:\+chromium /m);
  expect(shipped('docker-compose.yml')).toContain('args: { CHROMIUM: "${TROUPE_CHROMIUM:-}" }');
  expect(shipped('docs/sandbox.md')).toContain('TROUPE_CHROMIUM=1');
});
