/** The bill of materials of the image: every package that the lock file installs for users. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../../tools/install.mjs';
import { scratchFolder } from '../runtime/config/folder.ts';

type Locked = {
  readonly version: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly peer?: boolean;
  readonly devOptional?: boolean;
};
type Lock = { readonly packages: Readonly<Record<string, Locked>> };
type Sbom = {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly { readonly purl: string; readonly hashes?: readonly object[] }[];
};

it('the commands of the image list every package that users get', () => {
  const image = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8').replaceAll('\\\n', ' ');
  const [, command = ''] = /&& npm (sbom [^>]*)> sbom\.cdx\.json/.exec(image) ?? [];
  expect(command).toContain('--sbom-format=cyclonedx');
  expect(image).toMatch(/COPY --from=build .*\/troupe\/sbom\.cdx\.json/);
  // npm calls the program by its folder, which is /troupe in the image.
  const folder = join(scratchFolder(), 'troupe');
  mkdirSync(folder);
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(join(root, name), join(folder, name));
  // As the image: `npm sbom --omit=dev` would leave out what tests depend on, too.
  expect(image).toMatch(
    /npm install [^\n]*--omit=dev[^]*npm pkg delete devDependencies +&& npm sbom/,
  );
  spawnSync('npm', ['pkg', 'delete', 'devDependencies'], { cwd: folder });
  // Without node_modules: from the lock file, which has packages of tests, too.
  const args = [...command.trim().split(/\s+/), '--package-lock-only'];
  const { stdout, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  const sbom = JSON.parse(stdout || stderr) as Sbom;
  expect(sbom).toMatchObject({
    bomFormat: 'CycloneDX',
    metadata: { component: { name: 'troupe' } },
  });
  const listed = new Set(sbom.components.map(({ purl }) => decodeURIComponent(purl)));
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
  const wanted = Object.entries(packages).filter(
    ([path, { dev, optional, peer, devOptional }]) =>
      path.startsWith('node_modules/') && !dev && !optional && !peer && !devOptional,
  );
  expect(wanted.length).toBeGreaterThan(30);
  for (const [path, { version }] of wanted)
    expect(listed).toContain(
      `pkg:npm/${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`,
    );
});
