/**
 * The formatting that each messenger understands: how its text is escaped, and how styles, links,
 * code and quotes are written. Pure.
 *
 * Slack and WhatsApp have no escape for their markers. A marker formats only beside a letter and
 * after a space or a punctuation mark, so a hair space beside it makes it plain text. It has the
 * width of a line. A back-tick, which formats everywhere, becomes a similar character.
 */
import type { Run, Style } from './document.ts';

export type Dialect = 'telegram-html' | 'slack-mrkdwn' | 'discord' | 'whatsapp' | 'plain';

export type Format = {
  /** opening and closing markers; undefined: the dialect has no styles */
  readonly styles?: Readonly<Record<Style, readonly [opening: string, closing: string]>>;
  /**
   * an opening marker after such a character is not read as one, nor a closing marker before one
   */
  readonly joins?: Joins;
  /** the same for the markers of code */
  readonly joinsCode?: Joins;
  /**
   * whether a styled text may contain characters of its own marker; Discord ignores some escapes
   */
  readonly nestsMarkers: boolean;
  readonly escape: (text: string) => string;
  /** escapes what formats at the beginning of a line */
  readonly lineStart: (escaped: string) => string;
  readonly code: (code: string) => string;
  readonly block: (code: string, language: string | undefined) => string;
  /** undefined: a link is shown with its target */
  readonly link?: (label: string, href: string) => string | undefined;
  /** @param next the text behind it */
  readonly url: (run: Required<Pick<Run, 'text' | 'href'>>, next: string) => string;
  /** before each line of a quote, or around the lines of one */
  readonly quote: { readonly before: string } | { readonly around: readonly [string, string] };
  /** headings of the dialect have markers before the line; undefined: they are bold */
  readonly heading?: (depth: number) => string | undefined;
};

type Joins = { readonly before: RegExp; readonly after: RegExp };

export const HAIR_SPACE = '\u200a';
const BACK_TICK = '\u2035';
/** Invisible; it keeps the next character from being the first of a line. */
const SOFT_HYPHEN = '\u00ad';

const same = (text: string): string => text;
const entities = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const attribute = (text: string): string => entities(text).replaceAll('"', '&quot;');
const withoutTicks = (text: string): string => text.replaceAll('`', BACK_TICK);
/** Three back-ticks would end the block. */
const withoutFences = (code: string): string => code.replaceAll(/`{3,}/g, withoutTicks);

/** Hair spaces beside the markers of a text that would format, but not within `snake_case`. */
const withoutMarkers = (text: string): string =>
  withoutTicks(text).replaceAll(/[*_~]/g, (marker, at: number) => {
    const [before = '', after = ''] = [text[at - 1], text[at + 1]];
    if (/^\w\w$/.test(`${before}${after}`) && !/_/.test(`${before}${after}`)) return marker;
    const left = /\s/.test(before) ? '' : HAIR_SPACE;
    return `${left}${marker}${/[\s*_~]/.test(after) ? '' : HAIR_SPACE}`;
  });

const MARKERS = { bold: ['*', '*'], italic: ['_', '_'], strike: ['~', '~'] } as const;
/** Without `(?<=`, Node 26 finds no character above U+FFFF before the end of a text. */
const LETTERS: Joins = { before: /(?<=[\p{L}\p{N}\p{M}])$/u, after: /^[\p{L}\p{N}\p{M}]/u };
/** Slack allows few punctuation marks beside a marker. */
const SLACK_JOINS: Joins = { before: /[^\s.,([{!?=-]$/, after: /^[^\s.,\])}!?=-]/ };

const telegram: Format = {
  styles: { bold: ['<b>', '</b>'], italic: ['<i>', '</i>'], strike: ['<s>', '</s>'] },
  nestsMarkers: true,
  escape: entities,
  lineStart: same,
  code: (code) => `<code>${entities(code)}</code>`,
  block: (code, language) =>
    language === undefined
      ? `<pre>${entities(code)}</pre>`
      : `<pre><code class="language-${language}">${entities(code)}</code></pre>`,
  link: telegramLink,
  url: ({ text, href }) => telegramLink(text, href),
  quote: { around: ['<blockquote>', '</blockquote>'] },
};

function telegramLink(label: string, href: string): string {
  return `<a href="${attribute(href)}">${entities(label)}</a>`;
}

const slackText = (text: string): string => entities(withoutMarkers(text));
const slackTarget = (href: string): string => entities(href).replaceAll('|', '%7C');
/** Markers format in a label, too. */
const slackLink = (label: string, href: string): string =>
  `<${slackTarget(href)}|${slackText(label)}>`;

const slack: Format = {
  styles: MARKERS,
  joins: SLACK_JOINS,
  joinsCode: SLACK_JOINS,
  nestsMarkers: false,
  escape: slackText,
  lineStart: (escaped) => escaped.replace(/^(?=&gt;)/, SOFT_HYPHEN),
  code: (code) => `\`${entities(withoutTicks(code))}\``,
  block: (code) => `\`\`\`\n${entities(withoutFences(code))}\n\`\`\``,
  link: slackLink,
  url: ({ text, href }) =>
    text === href && !text.includes('|') ? `<${slackTarget(href)}>` : slackLink(text, href),
  quote: { before: '&gt; ' },
};

const whatsapp: Format = {
  styles: MARKERS,
  joins: LETTERS,
  joinsCode: LETTERS,
  nestsMarkers: false,
  escape: withoutMarkers,
  lineStart: (escaped) => escaped.replace(/^(?=\s*(?:>|-|\d{1,9}\.)\s)/, SOFT_HYPHEN),
  code: (code) => `\`${withoutTicks(code)}\``,
  block: (code) => `\`\`\`${withoutFences(code)}\`\`\``,
  url({ text, href }, next) {
    if (text !== href) return withoutMarkers(text);
    // An address ends at a space.
    return /^(?:\s|$)/.test(next) ? text : `${text}${HAIR_SPACE}`;
  },
  quote: { before: '> ' },
};

const discordEscape = (text: string): string =>
  text.replaceAll(/[\\*_~`|<[\]]|:(?=\/\/)/g, String.raw`\$&`);

/** Discord ends an address at a space, and excludes punctuation marks at its end. */
const ENDS_URL = /^[.,:;"')\]]*(?:\s|$)/;

const discord: Format = {
  styles: { bold: ['**', '**'], italic: ['_', '_'], strike: ['~~', '~~'] },
  joins: { before: /\w$/, after: /^\w/ },
  nestsMarkers: false,
  escape: discordEscape,
  lineStart: (escaped) => escaped.replace(/^\s*(?=[#>-])/, '$&\\'),
  code: discordCode,
  block: (code, language = '') => `\`\`\`${language}\n${withoutFences(code)}\n\`\`\``,
  // A label that looks like another address is not shown as a link.
  link: (label, href) =>
    /^https?:/i.test(href) && !label.includes('://')
      ? `[${discordEscape(label)}](${href.replaceAll(/[\\*_~`|()]/g, percentEncoded)})`
      : undefined,
  url({ text, href }, next) {
    if (text !== href || !/^https?:/i.test(href)) return discordEscape(text);
    return ENDS_URL.test(next) ? text : `<${text}>`;
  },
  quote: { before: '> ' },
  heading: (depth) => (depth <= 3 ? `${'#'.repeat(depth)} ` : undefined),
};

const percentEncoded = (one: string): string =>
  `%${one.codePointAt(0)!.toString(16).toUpperCase()}`;

/** As in Markdown, with a space beside a back-tick at the edge; three would be a block. */
function discordCode(code: string): string {
  const single = code.replaceAll(/`{2,}/g, withoutTicks);
  if (!single.includes('`')) return `\`${single}\``;
  const [left, right] = [single.startsWith('`') ? ' ' : '', single.endsWith('`') ? ' ' : ''];
  return `\`\`${left}${single}${right}\`\``;
}

const plain: Format = {
  nestsMarkers: true,
  escape: same,
  lineStart: same,
  code: same,
  block: same,
  url: ({ text }) => text,
  quote: { before: '> ' },
};

export const FORMATS: Readonly<Record<Dialect, Format>> = {
  'telegram-html': telegram,
  'slack-mrkdwn': slack,
  discord,
  whatsapp,
  plain,
};
