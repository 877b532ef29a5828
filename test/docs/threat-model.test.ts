/** docs/threat-model.md and SECURITY.md: what they cite exists, and the README links to them. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const PAGES = ['SECURITY.md', 'docs/threat-model.md'] as const;

/** Rows of "What is defended": threat, defence, code, test. */
const rowsOf = (page: string): string[][] =>
  page
    .slice(page.indexOf('## What is defended'), page.indexOf('## What is not defended'))
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .filter((line) => !line.startsWith('| ---'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

const pathsIn = (cell = ''): string[] =>
  [...cell.matchAll(/`([\w./-]+\.[a-z]+)`/g)].map(([, path]) => path ?? '');

/** Citations of a page that do not exist. */
const missingIn = (page: string): string[] =>
  rowsOf(page).flatMap(([threat, , code, test]) => {
    const files = [...pathsIn(code), ...pathsIn(test)];
    const [, file = '', name = ''] = /^`(test\/[\w./-]+\.test\.ts)` "(.+)"$/.exec(test ?? '') ?? [];
    const isNamed = existsSync(join(root, file)) && name !== '' && read(file).includes(name);
    return [
      ...(pathsIn(code).length === 0 ? [`${threat}: no code`] : []),
      ...files.filter((path) => !existsSync(join(root, path))),
      ...(isNamed ? [] : [`${threat}: no test ${test}`]),
    ];
  });

describe('the threat model', () => {
  it('cites existing code and an existing test for each threat', () => {
    const page = read('docs/threat-model.md');
    expect(rowsOf(page).length).toBeGreaterThan(15);
    expect(missingIn(page)).toEqual([]);
  });

  it('is refused when it cites a missing file or test', () => {
    const page = read('docs/threat-model.md');
    const wrong = page.replace(
      'channels/gateway/auth/client-address.ts',
      'channels/gateway/gone.ts',
    );
    expect(missingIn(wrong)).toEqual(['channels/gateway/gone.ts']);
    expect(missingIn(page.replace('"refuses a connection', '"admits a connection'))).toHaveLength(
      1,
    );
  });
});

it.each(PAGES)('%s is linked from the README, and the targets of its links exist', (path) => {
  expect(read('README.md')).toContain(`](${path})`);
  const targets = [...read(path).matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(
    ([, target]) => target ?? '',
  );
  expect(targets.length).toBeGreaterThan(0);
  for (const target of targets) {
    expect([target, existsSync(join(root, normalize(join(dirname(path), target))))]).toEqual([
      target,
      true,
    ]);
  }
});
