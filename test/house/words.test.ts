import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { root } from '../../tools/install.mjs';
import { complaints, sources } from './sources.ts';
import { type Counts, lowered, wordFindings, WORDS } from './words.ts';

const file = join(root, 'test/house/words.json');
const readCounts = (): Counts =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Counts) : {};

const broken = (path: string, text: string): string[] =>
  wordFindings(new Map([[path, text]]), {}).map((finding) => `${finding.path} ${finding.rule}`);

describe('words that are not used', () => {
  test('occur no more often than in words.json', () => {
    const files = sources(['.ts', '.tsx', '.mts', '.mjs', '.md']);
    // `npm run words`
    if (process.env['TROUPE_WORDS'] === 'lower') writeFileSync(file, lowered(files, readCounts()));
    const most = readCounts();
    expect(Object.keys(most)).toEqual(WORDS.map(({ name }) => name));
    expect(complaints(wordFindings(files, most))).toEqual([]);
  });

  test.each([
    ['runtime/a.ts', '/** It can not fail. */', 'code word not used: can not'],
    ['docs/a.md', 'It is closed for good.', 'docs word not used: for good'],
    ['test/a.test.ts', "it('is told what happened')", 'tests word not used: told'],
    ['cli/a.ts', "'Nobody answers.'", 'code word not used: nobody'],
  ])('are refused, planted in %s: %s', (path, text, finding) => {
    expect(broken(path, text)).toEqual([finding]);
  });

  test('have numbers that only fall', () => {
    const files = new Map([['runtime/a.ts', '// told, told']]);
    const most = { told: { code: 1, docs: 2, tests: 0 } };
    expect(lowered(files, most)).toContain('"told": { "code": 1, "docs": 0, "tests": 0 }');
  });

  test('are whole words', () => {
    expect(broken('runtime/a.ts', '// an outdoor retold understanding')).toEqual([]);
  });
});
