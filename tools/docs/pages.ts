/** The pages of the documentation, and their order as docs/README.md has it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lexer, type Tokens } from 'marked';
import { root } from '../install.mjs';
import { plainText } from './markdown.ts';

export type IndexedPage = {
  readonly title: string;
  /** from docs/: `tutorial.md`, `../CHANGELOG.md`, `../examples` */
  readonly href: string;
  /** what the row of the index says about it */
  readonly about: string;
};
export type Section = { readonly title: string; readonly pages: readonly IndexedPage[] };

export const readText = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Markdown files that become pages, as paths of the repository. */
export const sources = (): readonly string[] => [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path))
    .toSorted(),
  ...readdirSync(join(root, 'examples'))
    .map((name) => join('examples', name, 'README.md'))
    .filter((path) => existsSync(join(root, path))),
];

/** The headings of docs/README.md with the links of the first column below each. */
export function indexSections(): readonly Section[] {
  const sections: { title: string; pages: IndexedPage[] }[] = [];
  for (const token of lexer(readText('docs/README.md'))) {
    if (token.type === 'heading' && token.depth === 2)
      sections.push({ title: plainText(token.tokens ?? []), pages: [] });
    if (token.type === 'table') sections.at(-1)?.pages.push(...pagesOf(token as Tokens.Table));
  }
  return sections;
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const pagesOf = ({ rows }: Tokens.Table): IndexedPage[] =>
  rows.flatMap(([names, about]) =>
    (names?.tokens ?? [])
      .filter((token): token is Tokens.Link => token.type === 'link')
      .map(({ href, tokens }) => ({
        title: capitalized(plainText(tokens)),
        href,
        about: plainText(about?.tokens ?? []),
      })),
  );

/** llms.txt (https://llmstxt.org): what troupe is, and the pages with their subjects. */
export function llmsText(): string {
  const [, summary = ''] = readText('README.md').split('\n\n');
  const sections = indexSections().map(({ title, pages }) => {
    const lines = pages.map(
      ({ title: name, href, about }) => `- [${name}](${join('docs', href)}): ${about}`,
    );
    return [`## ${title}`, '', ...lines].join('\n');
  });
  return `# troupe\n\n> ${summary.replaceAll('\n', ' ')}\n\n${sections.join('\n\n')}\n`;
}
