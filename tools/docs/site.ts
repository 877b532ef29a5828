/**
 * The documentation as a static site: HTML of each page, and the index of the search. It reads the
 * repository and writes nothing. Pages have no references outside of the site except links.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import hljs from 'highlight.js/lib/common';
import { Marked, type Token, type Tokens } from 'marked';
import { root } from '../install.mjs';
import { anchorMaker, type Heading, plainText } from './markdown.ts';
import { indexSections, llmsText, readText, type Section, sources } from './pages.ts';

export type SiteFile = { readonly path: string; readonly contents: string | Buffer };

/** A part of a page from one heading to the next, for the search. */
type Entry = { url: string; page: string; heading: string; text: string };

type Page = {
  readonly source: string;
  readonly path: string;
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly entries: readonly Entry[];
  readonly images: readonly string[];
};

const EXCERPT_CHARACTERS = 160;
const ALIASES: Readonly<Record<string, string>> = {
  sh: 'bash',
  json5: 'javascript',
  text: 'plaintext',
};

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

/** `docs/channels/slack.md` -> `channels/slack.html`; a README is its folder's page. */
export function pathOf(source: string): string {
  if (source === 'README.md') return 'index.html';
  if (source === 'docs/README.md') return 'pages.html';
  return source
    .replace(/^docs\//, '')
    .replace(/\/README\.md$/, '.md')
    .replace(/\.md$/, '.html');
}

/** The page of a target: of a Markdown file, or of the README of a folder. */
function pageAt(target: string, known: ReadonlySet<string>): string | undefined {
  const clean = normalize(target).replace(/\/$/, '');
  return [clean, join(clean, 'README.md')].find((path) => known.has(path));
}

const from = (path: string, to: string): string => relative(dirname(path), to);

/** The address of a link in the site; undefined for files that are only in the repository. */
function linkOf(source: string, href: string, known: ReadonlySet<string>): string | undefined {
  if (/^(https?:|mailto:|#)/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const page = pageAt(join(dirname(source), path), known);
  if (page === undefined) return undefined;
  return `${from(pathOf(source), pathOf(page))}${anchor === undefined ? '' : `#${anchor}`}`;
}

function codeHtml({ text, lang = '' }: Tokens.Code): string {
  const [name = '', ...attributes] = lang.split(' ');
  const language = ALIASES[name] ?? name;
  const body = hljs.getLanguage(language)
    ? hljs.highlight(text, { language }).value
    : escaped(text);
  const title = attributes.find((pair) => pair.startsWith('title='))?.slice('title='.length);
  const caption = title === undefined ? '' : `<figcaption>${escaped(title)}</figcaption>`;
  return `<figure>${caption}<pre tabindex="0"><code>${body}</code></pre></figure>\n`;
}

function renderPage(source: string, known: ReadonlySet<string>): Page {
  const path = pathOf(source);
  const idOf = anchorMaker();
  const headings: Heading[] = [];
  const images: string[] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const text = plainText(tokens);
        const id = idOf(text);
        headings.push({ id, text, depth });
        const link = `<a class="anchor" href="#${id}" aria-label="Link to ${escaped(text)}">#</a>`;
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}${link}</h${depth}>\n`;
      },
      code: codeHtml,
      table(token) {
        return `<div class="table" tabindex="0">${tableHtml(token, (cell) => this.parser.parseInline(cell.tokens))}</div>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const target = linkOf(source, href, known);
        if (target !== undefined) return `<a href="${escaped(target)}">${text}</a>`;
        return `<span title="in the repository: ${escaped(normalize(join(dirname(source), href)))}">${text}</span>`;
      },
      image({ href, text }) {
        const file = normalize(join(dirname(source), href));
        images.push(file);
        return `<img src="${from(path, file.replace(/^docs\//, ''))}" alt="${escaped(text)}" loading="lazy">`;
      },
    },
  });
  const tokens = marked.lexer(readText(source));
  const html = marked.parser(tokens);
  const title = headings[0]?.text ?? source;
  return { source, path, title, html, headings, images, entries: entriesOf(tokens, path, title) };
}

function tableHtml({ header, rows }: Tokens.Table, cellHtml: (cell: Tokens.TableCell) => string) {
  const row = (cells: readonly Tokens.TableCell[], tag: string) =>
    `<tr>${cells.map((cell) => `<${tag}>${cellHtml(cell)}</${tag}>`).join('')}</tr>`;
  const body = rows.map((cells) => row(cells, 'td')).join('\n');
  return `<table><thead>${row(header, 'th')}</thead><tbody>${body}</tbody></table>`;
}

// A block of code without its fence, which names a language.
const rawText = (token: Token): string =>
  (token.type === 'code' ? String(token.text) : token.raw)
    .replaceAll(/<!--.*?-->|<[^>]+>|\]\([^)]*\)|[`*|[\]]|^ *:?-{3,}.*$/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

function entriesOf(tokens: readonly Token[], path: string, title: string): Entry[] {
  const idOf = anchorMaker();
  const entries: Entry[] = [];
  for (const token of tokens) {
    if (token.type === 'heading') {
      const heading = plainText(token.tokens ?? []);
      entries.push({ url: `${path}#${idOf(heading)}`, page: title, heading, text: '' });
    } else {
      const entry = entries.at(-1);
      if (entry) entry.text = `${entry.text} ${rawText(token)}`.trim();
    }
  }
  return entries;
}

/** The beginning of the text as it is, then each further word once. */
function indexed(text: string): string {
  const start = text.slice(0, EXCERPT_CHARACTERS);
  const present = new Set(start.toLowerCase().split(/[^\p{L}\p{N}_.-]+/u));
  const words = text
    .slice(EXCERPT_CHARACTERS)
    .toLowerCase()
    .split(/[^\p{L}\p{N}_.-]+/u);
  return `${start}\u0000${[...new Set(words)].filter((word) => word.length > 1 && !present.has(word)).join(' ')}`;
}

const navigation = (path: string, sections: readonly Section[], known: ReadonlySet<string>) =>
  sections
    .map(({ title, pages }) => {
      const items = pages.flatMap(({ title: name, href }) => {
        const page = pageAt(join('docs', href), known);
        if (page === undefined) return [];
        const current = pathOf(page) === path ? ' aria-current="page"' : '';
        return `<li><a href="${from(path, pathOf(page))}"${current}>${escaped(name)}</a></li>`;
      });
      return `<h2>${escaped(title)}</h2><ul>${items.join('')}</ul>`;
    })
    .join('\n');

const contents = (headings: readonly Heading[]): string => {
  const items = headings
    .filter(({ depth }) => depth === 2)
    .map(({ id, text }) => `<li><a href="#${id}">${escaped(text)}</a></li>`);
  return items.length < 2 ? '' : `<h2>On this page</h2><ul>${items.join('')}</ul>`;
};

function document(page: Page, nav: string): string {
  const base = from(page.path, '.') || '.';
  const title = page.path === 'index.html' ? 'troupe' : `${page.title} - troupe`;
  return `<!doctype html>
<html lang="en" data-base="${base}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="${base}/site.css">
<script src="${base}/site.js" defer></script></head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><button id="menu" type="button" aria-expanded="false" aria-controls="nav">Menu</button>
<a class="home" href="${base}/index.html">troupe</a>
<div class="search" role="search"><input id="search" type="search" placeholder="Search (press /)" aria-label="Search" autocomplete="off" aria-controls="results"><ul id="results" hidden></ul></div>
<button id="theme" type="button" aria-label="Light or dark colours">◐</button></header>
<div class="columns">
<nav id="nav" aria-label="Pages"><ul><li><a href="${base}/pages.html">All pages</a></li></ul>${nav}</nav>
<main id="content">${page.html}</main>
<aside aria-label="On this page">${contents(page.headings)}</aside>
</div>
</body></html>
`;
}

/** Every file of the site, by its path in the folder of the site. */
export function siteFiles(): readonly SiteFile[] {
  const known = new Set(sources());
  const sections = indexSections();
  const pages = [...known].map((source) => renderPage(source, known));
  const entries = pages.flatMap((page) => page.entries);
  const rows = entries.map(({ url, page, heading, text }) => [url, page, heading, indexed(text)]);
  const images = [...new Set(pages.flatMap((page) => page.images))];
  return [
    ...pages.map((page) => ({
      path: page.path,
      contents: document(page, navigation(page.path, sections, known)),
    })),
    ...images
      .filter((file) => existsSync(join(root, file)))
      .map((file) => ({
        path: file.replace(/^docs\//, ''),
        contents: readFileSync(join(root, file)),
      })),
    // A script, because pages opened as files may not fetch.
    { path: 'search-index.js', contents: `window.searchIndex = ${JSON.stringify(rows)};\n` },
    { path: 'site.js', contents: readText('tools/docs/assets/site.js') },
    { path: 'site.css', contents: readText('tools/docs/assets/site.css') },
    { path: 'llms.txt', contents: llmsText() },
  ];
}
