/**
 * `npm run verify`: runs every check that needs no running program, one after the other. It
 * continues after a failure, so that one run reports all problems, and exits with 1 if any check
 * failed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureInstalled, root } from './install.mjs';

/** In this order: SDKs are generated from the schemas. */
const generators = [
  'tools/generate-schemas.ts',
  'tools/generate-sdk.ts',
  'tools/generate-operations.ts',
  'tools/generate-charts.ts',
  'tools/generate-observability.ts',
  'tools/generate-kubernetes.ts',
  'tools/generate-api.ts',
];
const generatedFolders = [
  'protocols/schemas',
  'protocols/sdk',
  'docs/api',
  'deploy/grafana',
  'deploy/helm',
];
const generatedPages = [
  'docs/operations.md',
  'charts/layouts.json',
  'deploy/prometheus-rules.yml',
  'deploy/kubernetes/troupe.yaml',
  'deploy/kubernetes/nats.yaml',
  'deploy/kubernetes/autoscaling.yaml',
];

function run(command, args) {
  const options = { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' };
  return spawnSync(command, args, options).status === 0;
}

/** Runs one of package.json's scripts, so that a contributor can run the same check alone. */
const script = (name) => () => run('npm', ['run', '--silent', name]);

/** Path and contents of every generated file. */
function generatedFiles() {
  const files = generatedFolders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const pages = generatedPages.map((page) => join(root, page)).filter(existsSync);
  return new Map([...files, ...pages].map((path) => [path, readFileSync(path, 'utf8')]));
}

/** Generates again and compares. A file that differed is left as generated, ready to commit. */
function generatedIsUpToDate() {
  const before = generatedFiles();
  const made = (path) => run(process.execPath, [join('tools', 'run.mjs'), path]);
  if (!generators.every(made)) return false;
  const after = generatedFiles();
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  );
  for (const path of changed)
    console.error(`${path}: was not what the sources make; commit the new file`);
  return changed.length === 0;
}

const checks = [
  { name: 'types', remedy: 'npm run check:types', run: script('check:types') },
  { name: 'lint', remedy: 'npm run check:lint', run: script('check:lint') },
  { name: 'format', remedy: 'npm run format', run: script('check:format') },
  { name: 'unused', remedy: 'npm run check:unused', run: script('check:unused') },
  { name: 'generated files', remedy: 'commit what changed', run: generatedIsUpToDate },
];

ensureInstalled({ dev: true });
const failed = checks.filter((check) => {
  console.log(`\n== ${check.name}`);
  const ok = check.run();
  console.log(ok ? `ok: ${check.name}` : `FAILED: ${check.name} (${check.remedy})`);
  return !ok;
});
console.log(
  failed.length === 0
    ? `\nverify: ${checks.length} checks passed`
    : `\nverify: FAILED: ${failed.map((check) => check.name).join(', ')}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
