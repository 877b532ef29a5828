/**
 * Writes deploy/kubernetes and deploy/helm from tools/kubernetes:
 * `node tools/run.mjs tools/generate-kubernetes.ts`. Names of images are in deploy/images.json.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { kubernetesFiles } from './kubernetes/files.ts';

const folder = join(process.cwd(), 'deploy');
const json = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

rmSync(join(folder, 'helm'), { recursive: true, force: true });
const files = kubernetesFiles({
  images: json(join(folder, 'images.json')) as { troupe: string; nats: string },
  version: (json('package.json') as { version: string }).version,
});
for (const [path, text] of files) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
