/**
 * The code blocks of README.md and docs/: data is parsed, configuration passes its check, and
 * TypeScript and JavaScript compile against the package as one program. A block that cannot has
 * `<!-- not run: REASON -->` before it.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import JSON5 from 'json5';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { templateFiles } from '../../cli/project/template.ts';
import { ConfigError, loadConfig } from '../../runtime/config/index.ts';
import { ensureDeclarations, entryTypes } from '../../tools/declarations.mjs';
import { root } from '../../tools/install.mjs';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { type Block, blocksOf, pages } from './pages.ts';

const blocks = pages.flatMap((page) => blocksOf(page)).filter(({ notRun }) => !notRun);
const of = (...languages: string[]) =>
  blocks
    .filter(({ language }) => languages.includes(language))
    .map((block) => ({ ...block, place: `${block.page}:${block.line}` }));

/** An ellipsis in data means anything: `[…]`, `"9a1b…"`, `,…}`. */
const withoutEllipses = (text: string): string =>
  text.replaceAll(/,\s*…(?=\s*[}\]])/g, '').replaceAll(/(?<=[[{]\s*)…(?=\s*[}\]])/g, '');

describe('data is valid', () => {
  it.each(of('json'))('$place', ({ text }) => {
    const documents = text.split(/\n(?=\{)/);
    for (const document of documents)
      expect(() => void JSON.parse(withoutEllipses(document))).not.toThrow();
  });
  it.each(of('yaml'))('$place', ({ text }) => {
    for (const { errors } of parseAllDocuments(text)) expect(errors).toEqual([]);
  });
});

/** Tools of programs that pages write. */
const TOOLS_OF_PAGES = ['stock_level'];

/**
 * What is wrong with a configuration, or a part of one, besides secrets and files that this machine
 * lacks.
 */
function problemsOf(text: string): string[] {
  const home = scratchFolder();
  const file = write(home, 'troupe.json5', text);
  const names = [...text.matchAll(/env: ['"](\w+)['"]/g)].map(([, name]) => name!);
  const env = Object.fromEntries(names.map((name) => [name, 'a-secret-of-32-characters-or-more']));
  try {
    loadConfig({ file, env, flags: { data: home }, ownTools: TOOLS_OF_PAGES });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
}

describe('configuration passes its check', () => {
  it.each(of('json5'))('$place', ({ text }) => {
    const whole = /^(?:\s*\/\/.*\n)*\s*\{/.test(text) ? text : `{${text}\n}`;
    expect(typeof JSON5.parse(withoutEllipses(whole))).toBe('object');
    expect(problemsOf(withoutEllipses(whole))).toEqual([]);
  });
});

/** The path of each block's file; those of one page with titles import each other. */
const pathOf = ({ page, line, language, attributes }: Block): string =>
  join(
    page.replaceAll('/', '-'),
    attributes['title'] ?? `${line}.${language === 'js' ? 'mjs' : 'ts'}`,
  );

it('TypeScript and JavaScript compile against the types of the package', () => {
  // Below the repository, so that packages are found.
  mkdirSync(join(root, 'dist'), { recursive: true });
  const folder = mkdtempSync(join(root, 'dist', 'docs-blocks-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const codes = of('ts', 'js');
  expect(codes.length).toBeGreaterThan(10);
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  // The tutorial begins with the files of `troupe init`.
  const project = { name: 'shop', dependencies: {}, devDependencies: {} };
  const files = templateFiles({ ...project, language: 'typescript' });
  for (const [path, text] of Object.entries(files))
    if (path.endsWith('.ts')) put(join('docs-tutorial.md', path), text);
  for (const block of codes) put(pathOf(block), block.text);
  ensureDeclarations();
  const types = [...entryTypes()].map(([entry, path]) => [join('troupe', entry), [path]] as const);
  const config = {
    extends: '../../tsconfig.json',
    compilerOptions: {
      // those that users have, not the sources, whose check takes 20 s of processor time
      paths: Object.fromEntries(types),
      allowJs: true,
      checkJs: false,
      verbatimModuleSyntax: false,
      noUncheckedIndexedAccess: false,
    },
    include: ['**/*.ts', '**/*.mjs'],
    // Those of tsconfig.json would exclude this folder.
    exclude: [],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' });
  expect(stdout).toBe('');
}, 300_000);
