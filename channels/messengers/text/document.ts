/**
 * document: reads Markdown as a flat list of what a messenger can show: lines of styled text, and
 * code. Lists become lines with a bullet or a number, tables become aligned code, HTML stays text.
 * Pure.
 *
 * Invariant: any text is read. What `marked` cannot read is one part of plain text.
 */
import { lexer, type Token, type Tokens } from 'marked';
import { alignedTable } from './aligned-table.ts';

export type Style = 'bold' | 'italic' | 'strike';
/**
 * Text with one format. `href`: a link of http, https or mailto; `isUrl`: the text is its target.
 */
export type Run = {
  readonly text: string;
  readonly styles: readonly Style[];
  readonly isCode?: true;
  readonly href?: string;
  readonly isUrl?: true;
};
type Common = {
  /** it follows the part before without an empty line */
  readonly isTight: boolean;
};
export type TextPart = Common & {
  readonly kind: 'text';
  readonly runs: readonly Run[];
  /** levels of quotes around it */
  readonly quotes: number;
  /** indentation, with the bullet or number of a list item */
  readonly lead: string;
  /** 1 to 6 */
  readonly heading?: number;
};
export type CodePart = Common & {
  readonly kind: 'code';
  readonly code: string;
  readonly language?: string;
};
export type Part = TextPart | CodePart;

/** A line break in a paragraph stays one, as people write in a chat. */
const OPTIONS = { gfm: true, breaks: true };
const NESTING_MAX = 60;
const RULE = '———';

export function partsOf(markdown: string): readonly Part[] {
  try {
    const tokens = lexer(markdown, OPTIONS);
    if (!isDeeper(tokens, NESTING_MAX)) return blocks(tokens, TOP);
  } catch (error) {
    // marked recurses for each level of a quote or list.
    if (!(error instanceof RangeError)) throw error;
  }
  return [textPart([plainRun(markdown.trim())], TOP)];
}

const isDeeper = (tokens: readonly Token[], levels: number): boolean =>
  tokens.some((token) => {
    const { tokens: inside = [], items = [] } = token as Partial<Tokens.Generic>;
    const under: readonly Token[] = [...inside, ...(items as readonly Token[])];
    return under.length > 0 && (levels === 0 || isDeeper(under, levels - 1));
  });

// ---- blocks

/** Where a block is: `lead` is before its first part, `indent` before the others. */
type Place = Common & {
  readonly quotes: number;
  readonly lead: string;
  readonly indent: string;
  readonly isTightInside: boolean;
};
const TOP: Place = { quotes: 0, lead: '', indent: '', isTight: false, isTightInside: false };

function blocks(tokens: readonly Token[], place: Place): Part[] {
  const parts: Part[] = [];
  for (const token of tokens) {
    const { indent, isTightInside } = place;
    const here = parts.length === 0 ? place : { ...place, lead: indent, isTight: isTightInside };
    parts.push(...(BLOCKS[token.type]?.(token as never, here) ?? inlineBlock(token, here)));
  }
  return parts;
}

type Read<T> = (token: T, place: Place) => readonly Part[];

const inlineBlock: Read<Token> = (token, place) => shownText(runsOf([token], []), place);

const paragraph: Read<Tokens.Paragraph | Tokens.Text> = ({ tokens, text }, place) =>
  shownText(tokens === undefined ? [plainRun(decoded(text))] : runsOf(tokens, []), place);

const heading: Read<Tokens.Heading> = ({ tokens, depth }, place) =>
  shownText(runsOf(tokens, []), place, depth);

const list: Read<Tokens.List> = ({ items, ordered, start, loose }, place) =>
  items.flatMap((item, at) => {
    const before = at === 0 ? place.lead : place.indent;
    const mark = ordered ? `${Number(start) + at}. ` : '• ';
    const box = item.task ? (item.checked ? '☑ ' : '☐ ') : '';
    const lead = `${before}${mark}${box}`;
    const isTight = at === 0 ? place.isTight : !loose;
    const indent = ' '.repeat(lead.length);
    const inside = { ...place, lead, indent, isTight, isTightInside: !loose };
    const parts = blocks(item.tokens, inside);
    // An item that is empty, or begins with code.
    return parts[0]?.kind === 'text' ? parts : [textPart([], inside), ...parts.map(tight)];
  });

const tight = (part: Part, at: number): Part => (at === 0 ? { ...part, isTight: true } : part);

const quote: Read<Tokens.Blockquote> = ({ tokens }, place) =>
  blocks(tokens, { ...place, quotes: place.quotes + 1 });

const code: Read<Tokens.Code> = ({ text, lang }, { isTight }) => {
  const trimmed = text.replaceAll(/^(?:[ \t]*\n)+|\s+$/g, '');
  if (trimmed === '') return [];
  const [language] = /^[\w+#.-]{1,32}(?=\s|$)/.exec(lang ?? '') ?? [];
  return [
    { kind: 'code', code: trimmed, isTight, ...(language === undefined ? {} : { language }) },
  ];
};

const table: Read<Tokens.Table> = ({ header, rows, align }, { isTight }) => {
  const cells = [header, ...rows].map((row) =>
    row.map(({ tokens }) => visible(runsOf(tokens, []))),
  );
  const [first, ...rest] = cells as [string[], ...string[][]];
  return [{ kind: 'code', code: alignedTable(first, rest, align), isTight }];
};

const raw: Read<Token> = (token, place) => shownText([plainRun(token.raw.trim())], place);

const BLOCKS: Readonly<Record<string, Read<never> | undefined>> = {
  space: () => [],
  // It is before the text of its item.
  checkbox: () => [],
  paragraph,
  text: paragraph,
  heading,
  list,
  blockquote: quote,
  code,
  table,
  hr: (_, place) => [textPart([plainRun(RULE)], place)],
  html: raw,
  def: raw,
};

const shownText = (runs: readonly Run[], place: Place, depth?: number): readonly Part[] =>
  runs.every(({ text }) => text.trim() === '') && place.lead.trim() === ''
    ? []
    : [textPart(runs, place, depth)];

const textPart = (
  runs: readonly Run[],
  { quotes, lead, isTight }: Place,
  depth?: number,
): TextPart => ({
  kind: 'text',
  runs,
  quotes,
  lead,
  isTight,
  ...(depth === undefined ? {} : { heading: depth }),
});

// ---- inline

const plainRun = (text: string): Run => ({ text, styles: [] });

type ReadInline<T> = (token: T, styles: readonly Style[]) => readonly Run[];

const runsOf = (tokens: readonly Token[], styles: readonly Style[]): Run[] =>
  tokens.flatMap(
    (token) => INLINE[token.type]?.(token as never, styles) ?? [...text(token, styles)],
  );

const text: ReadInline<Token> = (token, styles) => {
  if ('tokens' in token && token.tokens !== undefined) return runsOf(token.tokens, styles);
  const said = 'text' in token && typeof token.text === 'string' ? token.text : token.raw;
  return [{ text: token.type === 'text' ? decoded(said) : said, styles }];
};

const within =
  (style: Style): ReadInline<Tokens.Strong | Tokens.Em | Tokens.Del> =>
  ({ tokens }, styles) =>
    runsOf(tokens, styles.includes(style) ? styles : [...styles, style]);

const link: ReadInline<Tokens.Link | Tokens.Image> = (
  { href, tokens, type, text: alt },
  styles,
) => {
  const target = decoded(href);
  const inside = type === 'link' ? runsOf(tokens, styles) : [plainRun(alt)];
  const label = visible(inside).replaceAll(/\s+/g, ' ').trim() || (type === 'image' ? 'image' : '');
  const isLink = /^(?:https?:\/\/|mailto:)[^\s<>"]+$/i.test(target);
  if (label === '' || label === target.replace(/^mailto:|^http:\/\/(?=www\.)/i, ''))
    return [
      { text: label || target, styles: [], ...(isLink ? { href: target, isUrl: true } : {}) },
    ];
  if (!isLink) return [{ text: target === '' ? label : `${label} (${target})`, styles }];
  const common = inside[0]?.styles.filter((one) => inside.every((run) => run.styles.includes(one)));
  return [{ text: label, styles: common ?? styles, href: target }];
};

const INLINE: Readonly<Record<string, ReadInline<never> | undefined>> = {
  strong: within('bold'),
  em: within('italic'),
  del: within('strike'),
  br: () => [plainRun('\n')],
  checkbox: () => [],
  link,
  image: link,
  codespan: (({ text: said }) => {
    const trimmed = said.trim();
    return [trimmed === '' ? plainRun(said) : { text: trimmed, styles: [], isCode: true }];
  }) satisfies ReadInline<Tokens.Codespan>,
};

/** What a reader sees of the runs, with the targets of links. */
const visible = (runs: readonly Run[]): string =>
  runs
    .map(({ text: said, href, isUrl }) =>
      href === undefined || isUrl ? said : `${said} (${href})`,
    )
    .join('');

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
};

/** Character references as models write them; others stay as they are. */
const decoded = (said: string): string =>
  said.replaceAll(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(amp|lt|gt|quot|apos|nbsp));/g, character);

const character = (_: string, decimal?: string, hex?: string, name?: string): string => {
  if (name !== undefined) return NAMED[name]!;
  const point = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
  const isValid = point >= 32 && point <= 0x10_ff_ff && (point < 0xd8_00 || point > 0xdf_ff);
  return isValid ? String.fromCodePoint(point) : '\ufffd';
};
