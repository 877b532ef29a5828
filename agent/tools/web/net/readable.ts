/**
 * Converts a page for a model: the main part of HTML as Markdown, indented JSON, other text
 * unchanged. Large pages are converted in a worker thread (`reader.ts`).
 *
 * Boundary: pure; no network, no clock.
 */
import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import TurndownService from 'turndown';

export type Readable = {
  readonly title?: string;
  readonly text: string;
  /** the format of the result */
  readonly form: 'markdown' | 'json' | 'text';
};

/** Maximum number of elements for Readability; a larger page is read as plain text. */
const ELEMENTS_MAX = 50_000;

/** undefined when the content is not text, such as an image or an archive. */
export function readableOf(bytes: Uint8Array, contentType: string): Readable | undefined {
  const type = contentType.split(';')[0]!.trim();
  if (!isText(type, bytes)) return undefined;
  const text = decoded(bytes, contentType);
  if (/[/+]json$/.test(type)) return jsonOf(text);
  if (type === 'text/html' || type === 'application/xhtml+xml' || looksLikeHtml(type, text))
    return htmlOf(text);
  return { text, form: 'text' };
}

const TEXT_TYPES = /^text\/|[/+](json|xml|yaml|x-yaml|javascript|x-ndjson|toml)$/;
const isText = (type: string, bytes: Uint8Array): boolean =>
  type === '' || type === 'application/octet-stream'
    ? !bytes.subarray(0, 4_096).includes(0)
    : TEXT_TYPES.test(type);

const looksLikeHtml = (type: string, text: string): boolean =>
  type === '' && /^\s*<(!doctype html|html)/i.test(text);

/** From the byte order mark, the header, or the page's own declaration; default UTF-8. */
function decoded(bytes: Uint8Array, contentType: string): string {
  const head = Buffer.from(bytes.subarray(0, 2_048)).toString('latin1');
  const named =
    markOf(bytes) ??
    /charset\s*=\s*"?([\w-]+)/i.exec(contentType)?.[1] ??
    /<meta[^>]+charset\s*=\s*["']?([\w-]+)/i.exec(head)?.[1] ??
    'utf-8';
  return decoderOf(named).decode(bytes);
}

function markOf([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder(); // an unknown charset
  }
}

function jsonOf(text: string): Readable {
  try {
    return { text: JSON.stringify(JSON.parse(text), undefined, 2), form: 'json' };
  } catch {
    return { text, form: 'text' };
  }
}

function htmlOf(html: string): Readable {
  // A fragment lacks a document element.
  const { document } = parseHTML(
    /<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`,
  );
  const title = document.querySelector('title')?.textContent?.trim();
  const named = title ? { title } : {};
  const body = () => document.querySelector('body') ?? document.documentElement;
  if (document.querySelectorAll('*').length > ELEMENTS_MAX) {
    return { ...named, text: spaced(body()?.textContent ?? ''), form: 'text' };
  }
  for (const element of document.querySelectorAll('script, style, noscript, template'))
    element.remove();
  // Readability modifies its document, so a page without a main part is read from a copy.
  const whole = body()?.innerHTML ?? '';
  const article = new Readability(document).parse();
  const main = article?.content && (article.length ?? 0) >= MAIN_CHARACTERS_MIN;
  return { ...named, text: markdownOf(main ? article.content! : whole), form: 'markdown' };
}

/** A shorter result of Readability is probably a caption and not the main part. */
const MAIN_CHARACTERS_MIN = 200;

function markdownOf(html: string): string {
  const { document } = parseHTML(`<html><body>${html}</body></html>`);
  const service = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
  });
  service.remove(['script', 'style', 'noscript']);
  return spaced(service.turndown(document.body));
}

const spaced = (text: string): string =>
  text
    .replaceAll(/[ \t]+$/gm, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
