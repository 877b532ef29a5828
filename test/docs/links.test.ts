/** Links in README.md and docs/ lead to files and headings that exist, and the README is short. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../../tools/install.mjs';
import { explicitAnchors, headingsOf, slugOf } from '../../tools/docs/markdown.ts';
import { sources } from '../house/sources.ts';
import { pages, readPage } from './pages.ts';

const withoutCode = (text: string): string =>
  text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '').replaceAll(/`[^`\n]*`/g, '');

/** Targets of Markdown links and images, of HTML too. */
const linksOf = (page: string): string[] =>
  [...withoutCode(readPage(page)).matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g)].map(
    ([, markdown, html]) => (markdown ?? html)!,
  );

const anchors = new Map<string, Set<string>>();
const anchorsOf = (path: string): Set<string> => {
  const text = readPage(path);
  const found =
    anchors.get(path) ??
    new Set([...headingsOf(text).map(({ id }) => id), ...explicitAnchors(text)]);
  anchors.set(path, found);
  return found;
};

/** What is wrong with a link, if anything. */
function wrong(page: string, link: string): string | undefined {
  if (/^(https?|mailto|ws):/.test(link)) return undefined;
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  const file = join(root, target);
  if (!existsSync(file)) return `${link}: there is no ${target}`;
  if (anchor === undefined || statSync(file).isDirectory() || !target.endsWith('.md')) return;
  return anchorsOf(target).has(anchor) ? undefined : `${link}: no heading has this anchor`;
}

it.each([...pages, 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'llms.txt'])(
  'links of %s',
  (page) => {
    expect(linksOf(page).flatMap((link) => wrong(page, link) ?? [])).toEqual([]);
  },
);

it.each(['docs/architecture.md', 'docs/commit-protocol.md', 'CONTRIBUTING.md'])(
  'every source file that %s names exists',
  (page) => {
    const paths = [...sources(['.ts', '.mjs']).keys()].map((path) => `/${path}`);
    const named = [...readPage(page).matchAll(/`([\w./-]+\.(?:ts|mjs))`/g)].map(
      ([, path]) => path!,
    );
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !paths.some((path) => path.endsWith(`/${name}`)))).toEqual([]);
  },
);

it('anchors are those of GitHub', () => {
  expect(slugOf('Skills: `a.b` & tools_x!')).toBe('skills-ab--tools_x');
  expect(headingsOf('# A\n## B b\n## B b\n').map(({ id }) => id)).toEqual(['a', 'b-b', 'b-b-1']);
});

it('the index names every page', () => {
  const linked = linksOf('docs/README.md').map((link) => normalize(join('docs', link)));
  const all = pages.filter((page) => /^docs\/[^/]+\.md$/.test(page) && page !== 'docs/README.md');
  expect(all.filter((page) => !linked.includes(page))).toEqual([]);
});

it('the README has under 900 words', () => {
  expect(readPage('README.md').split(/\s+/).filter(Boolean).length).toBeLessThan(900);
});
