import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../../tools/install.mjs';

/** Each file, the violation planted in it, and the rule that must report it. */
const planted = [
  ['protocols/a.ts', `import type { X } from '../runtime/x.ts';\nexport type A = X;`, 'imports'],
  ['memory/a.ts', `import type { X } from '../runtime/x.ts';\nexport type A = X;`, 'imports'],
  ['runtime/a.ts', `import { open } from 'lmdb';\nopen({});`, 'imports'],
  ['actors/a/a.ts', `import type { X } from '../../runtime/x.ts';\nexport type A = X;`, 'imports'],
  ['channels/a/a.ts', `import type { X } from '../../actors/x.ts';\nexport type A = X;`, 'imports'],
  ['cli/a.ts', `import type { X } from '../test/x.ts';\nexport type A = X;`, 'imports'],
  ['runtime/ring.ts', `import type { B } from './ring-b.ts';\nexport type A = B[];`, 'no-cycle'],
  ['runtime/b.ts', `export const f = (x: any): unknown => x;`, 'no-explicit-any'],
  ['runtime/c.ts', `const f = async () => 1;\nf();`, 'no-floating-promises'],
  [
    'runtime/d.ts',
    `export function f(): void {\n${'  f();\n'.repeat(60)}}`,
    'max-lines-per-function',
  ],
] as const;
const ringEnd = `import type { A } from './ring.ts';\nexport type B = { readonly a: A };\n`;

type Report = { readonly diagnostics: readonly { filename: string; code: string }[] };

describe('the linter, given planted violations', () => {
  let folder: string;
  let report: Report;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'troupe-planted-'));
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir');
    copyFileSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
    copyFileSync(join(root, 'tsconfig.json'), join(folder, 'tsconfig.json'));
    for (const [path, text] of [...planted, ['runtime/ring-b.ts', ringEnd]] as const) {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      writeFileSync(join(folder, path), `${text}\n`);
    }
    const oxlint = join(root, 'node_modules', '.bin', 'oxlint');
    const folders = ['protocols', 'memory', 'runtime', 'actors', 'channels', 'cli'];
    const args = ['--format=json', '-c', '.oxlintrc.json', ...folders];
    const { stdout } = spawnSync(oxlint, args, { cwd: folder, encoding: 'utf8' });
    report = JSON.parse(stdout) as Report;
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  test.each(planted)('finds the one in %s', (path, _, rule) => {
    const codes = report.diagnostics
      .filter((diagnostic) => diagnostic.filename.endsWith(path))
      .map((diagnostic) => diagnostic.code);
    expect(codes.join()).toContain(rule);
  });
});
