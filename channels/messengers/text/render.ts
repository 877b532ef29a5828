/**
 * render: writes Markdown in the dialect of a messenger, and as plain text for where that is
 * refused. Pure.
 *
 * Invariants:
 *  1. Every opened tag or marker is closed, in the right order, and on its line where the dialect
 *     requires that.
 *  2. What a reader sees of the text is `plain`.
 *  3. Text of the model never formats: only its Markdown does. HTML is shown as text.
 */
import { type Dialect, FORMATS, type Format, HAIR_SPACE } from './dialects.ts';
import { type Part, partsOf, type Run, type Style, type TextPart } from './document.ts';

/** Both are empty for Markdown that shows nothing. */
export type Rendered = { readonly text: string; readonly plain: string };

/** Time and memory grow with the square of the length for some texts: see `piecesOf`. */
export function render(markdown: string, dialect: Dialect): Rendered {
  const parts = partsOf(markdown);
  const plain = written(parts, FORMATS.plain);
  return { text: dialect === 'plain' ? plain : written(parts, FORMATS[dialect]), plain };
}

function written(parts: readonly Part[], format: Format): string {
  let text = '';
  parts.forEach((part, at) => {
    const before = parts[at - 1];
    text += separator(before, part, format) + partText(part, format);
    if (quotesOf(part) > 0 && quotesOf(parts[at + 1]) === 0) text += around(format)[1];
  });
  return text.trim();
}

const quotesOf = (part: Part | undefined): number => (part?.kind === 'text' ? part.quotes : 0);
const around = ({ quote }: Format): readonly [string, string] =>
  'around' in quote ? quote.around : ['', ''];

function separator(before: Part | undefined, part: Part, format: Format): string {
  const quotes = Math.min(quotesOf(before), quotesOf(part));
  const opening = quotesOf(part) > 0 && quotes === 0 ? around(format)[0] : '';
  if (before === undefined) return opening;
  return `${part.isTight ? '\n' : `\n${quoteStart(quotes, format)}\n`}${opening}`;
}

/** Only the first level of a quote is formatted. */
const quoteStart = (levels: number, { quote, escape, lineStart }: Format): string => {
  const inner = lineStart(escape('> ')).repeat(Math.max(0, levels - 1));
  return levels > 0 && 'before' in quote ? quote.before + inner : inner;
};

function partText(part: Part, format: Format): string {
  if (part.kind === 'code') return format.block(part.code, part.language);
  const { quotes, lead, heading } = part;
  const isTop = quotes === 0 && lead === '';
  const marks = heading !== undefined && isTop ? format.heading?.(heading) : undefined;
  const runs = heading === undefined ? part.runs : part.runs.map((run) => titled(run, marks));
  return linesOf(runs)
    .map((line, at) => {
      const start = at === 0 ? lead : ' '.repeat(lead.length);
      return `${quoteStart(quotes, format)}${start}${marks ?? ''}${lineText(line, format)}`;
    })
    .join('\n');
}

const titled = (run: Run, marks: string | undefined): Run => {
  const others = run.styles.filter((style) => style !== 'bold');
  return {
    ...run,
    styles: marks === undefined && !run.isCode && !run.isUrl ? ['bold', ...others] : others,
  };
};

function linesOf(runs: TextPart['runs']): Run[][] {
  const lines: Run[][] = [[]];
  for (const run of runs) {
    run.text.split('\n').forEach((text, at) => {
      if (at > 0) lines.push([]);
      if (text !== '') lines.at(-1)!.push({ ...run, text });
    });
  }
  return lines;
}

const lineText = (line: readonly Run[], format: Format): string => {
  const runs = joinedCode(line.flatMap((run) => withTarget(run, format)));
  const text = styled(runs, ALONE, format);
  const [first] = runs;
  const isBare = first !== undefined && first.styles.length === 0 && !first.isCode && !first.href;
  return isBare ? format.lineStart(text) : text;
};

/** Code beside code is one code. */
function joinedCode(runs: readonly Run[]): Run[] {
  const joined: Run[] = [];
  for (const run of runs) {
    const last = joined.at(-1);
    if (last?.isCode && run.isCode) joined.push({ ...run, text: joined.pop()!.text + run.text });
    else joined.push(run);
  }
  return joined;
}

/** A link is shown with its target where it cannot be one. */
function withTarget(run: Run, { link }: Format): Run[] {
  const { text, styles, href, isUrl } = run;
  if (href === undefined || isUrl || link?.(text, href) !== undefined) return [run];
  const target: Run = { text: href, styles: [], href, isUrl: true };
  return [{ text, styles }, { text: ' (', styles: [] }, target, { text: ')', styles: [] }];
}

/** The texts beside runs. */
type Beside = { readonly before: string; readonly after: string };

const ALONE: Beside = { before: '', after: '' };

const STYLES: readonly Style[] = ['bold', 'italic', 'strike'];

/** Runs with their styles, the outer style first. */
function styled(
  runs: readonly Run[],
  beside: Beside,
  format: Format,
  styles: readonly Style[] = STYLES,
): string {
  const [style, ...inner] = styles;
  if (style === undefined || format.styles === undefined)
    return runs.map((run, at) => runText(run, besideOne(runs, at, beside), format)).join('');
  return groupsOf(runs, style)
    .map((group, at, groups) => {
      const before = textBeside(groups[at - 1]?.at(-1), styles) ?? beside.before;
      const after = textBeside(groups[at + 1]?.[0], styles) ?? beside.after;
      const text = group[0]!.styles.includes(style) ? styled(group, ALONE, format, inner) : '';
      return isMarkable(text, style, format)
        ? marked(text, style, { before, after }, format)
        : styled(group, { before, after }, format, inner);
    })
    .join('');
}

/** Markers must not be beside markers: a run that has some counts as a letter. */
const textBeside = (run: Run | undefined, styles: readonly Style[]): string | undefined =>
  run?.styles.some((style) => styles.includes(style)) ? 'x' : run?.text;

function groupsOf(runs: readonly Run[], style: Style): Run[][] {
  const groups: Run[][] = [];
  for (const run of runs) {
    const last = groups.at(-1);
    if (last?.[0]!.styles.includes(style) === run.styles.includes(style)) last.push(run);
    else groups.push([run]);
  }
  return groups;
}

/** A marker beside a space is not read as one. */
const isMarkable = (text: string, style: Style, { styles, nestsMarkers }: Format): boolean =>
  /^\S(?:.*\S)?$/s.test(text) && (nestsMarkers || !text.includes(styles![style][0].slice(-1)));

const besideOne = (runs: readonly Run[], at: number, { before, after }: Beside): Beside => ({
  before: runs[at - 1]?.text ?? before,
  after: runs[at + 1]?.text ?? after,
});

const marked = (text: string, style: Style, beside: Beside, format: Format): string => {
  const [opening, closing] = format.styles![style];
  return apart(`${opening}${text}${closing}`, beside, format.joins);
};

/** With hair spaces where the characters beside it keep its markers from formatting. */
function apart(text: string, { before, after }: Beside, joins: Format['joins']): string {
  const left = joins?.before.test(before) ? HAIR_SPACE : '';
  const right = joins?.after.test(after) ? HAIR_SPACE : '';
  return `${left}${text}${right}`;
}

function runText(run: Run, beside: Beside, format: Format): string {
  const { text, href, isCode, isUrl } = run;
  if (isCode) return apart(format.code(text), beside, format.joinsCode);
  if (href === undefined) return format.escape(text);
  if (isUrl) return format.url({ text, href }, beside.after);
  return format.link!(text, href)!;
}
