import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { root } from '../../tools/install.mjs';
import { codeFindings, definitions, missingTests } from './codes.ts';
import { complaints, sources } from './sources.ts';

const PAGE = 'docs/requirements.md';
const page = '| code | requirement |\n| --- | --- |\n| RT1 | Actors exist. |\n';
const broken = (path: string, text: string, requirements = page): string[] =>
  codeFindings(
    new Map([
      [PAGE, requirements],
      [path, text],
    ]),
  ).map(({ line, rule, remedy }) => `${line} ${rule}: ${remedy.split(' ')[0] ?? ''}`);

describe('codes of requirements, invariants and rules', () => {
  test('are defined once where the repository cites them', () => {
    const files = sources(['.ts', '.tsx', '.mts', '.mjs', '.md']);
    expect(definitions(files).size).toBeGreaterThan(100);
    expect(complaints(codeFindings(files))).toEqual([]);
  });

  test('have tests that exist', () => {
    const text = sources(['.md']).get(PAGE) ?? '';
    expect(missingTests(text, (path) => existsSync(join(root, path)))).toEqual([]);
    expect(missingTests('`test/none.test.ts`', () => false)).toEqual(['test/none.test.ts']);
  });

  test.each([
    [
      'runtime/a.ts',
      '/** Actors exist (RT1). */\n// Nothing waits (RT99).',
      '2 unknown code: RT99',
    ],
    ['docs/a.md', 'Nothing waits (B7).', '1 unknown code: B7'],
  ])('refuses an undefined code, planted in %s', (path, text, finding) => {
    expect(broken(path, text)).toEqual([finding]);
  });

  test('refuses a second definition', () => {
    expect(broken('runtime/a.ts', '', `${page}| RT1 | Again. |\n`)).toEqual([
      '1 code defined twice: RT1',
    ]);
  });

  test('ignores text that only looks like a code', () => {
    expect(broken('runtime/a.ts', "const key = 'B7';\n/** An A4-sized page, %C3 */")).toEqual([]);
  });
});
