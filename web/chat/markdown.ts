/**
 * A small part of Markdown as a tree: code fences, headings, lists, paragraphs, and inline code,
 * bold text and links. Other syntax stays plain text. Every text has a tree, also an incomplete
 * one: an open fence is code up to the end.
 */
export type Inline =
  | { readonly type: 'text' | 'code' | 'strong'; readonly text: string }
  | { readonly type: 'link'; readonly text: string; readonly href: string };

export type Block =
  | { readonly type: 'code'; readonly language: string; readonly text: string }
  | { readonly type: 'heading' | 'paragraph'; readonly lines: readonly (readonly Inline[])[] }
  | {
      readonly type: 'list';
      readonly ordered: boolean;
      readonly start: number;
      readonly items: readonly (readonly Inline[])[];
    };

const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)\s*$/;
const HEADING = /^#{1,6}\s+(.*)$/;
const BULLET = /^\s{0,3}[-*•]\s+(.*)$/;
const NUMBER = /^\s{0,3}(\d{1,9})[.)]\s+(.*)$/;

export const parseMarkdown = (text: string): readonly Block[] => {
  const lines = text.split('\n');
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    const read = readFence(lines, at) ?? readHeading(lines, at) ?? readList(lines, at);
    const { block, next } = read ?? readParagraph(lines, at);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
};

type Read = { readonly block?: Block; readonly next: number };

const readFence = (lines: readonly string[], at: number): Read | undefined => {
  const fence = FENCE.exec(lines[at] ?? '');
  const mark = fence?.[1];
  if (!mark) return undefined;
  const closes = (line: string) =>
    line.trim().startsWith(mark) && line.trim().replaceAll(mark[0]!, '') === '';
  const rest = lines.slice(at + 1);
  const end = rest.findIndex(closes);
  const code = end < 0 ? rest : rest.slice(0, end);
  const block = { type: 'code', language: fence[2] ?? '', text: code.join('\n') } as const;
  return { block, next: at + 1 + code.length + (end < 0 ? 0 : 1) };
};

const readHeading = (lines: readonly string[], at: number): Read | undefined => {
  const heading = HEADING.exec(lines[at] ?? '')?.[1];
  if (heading === undefined) return undefined;
  return { block: { type: 'heading', lines: [parseInline(heading)] }, next: at + 1 };
};

const readList = (lines: readonly string[], at: number): Read | undefined => {
  const number = NUMBER.exec(lines[at] ?? '');
  const form = number ? NUMBER : BULLET;
  const items: (readonly Inline[])[] = [];
  let next = at;
  for (let item = form.exec(lines[next] ?? ''); item; item = form.exec(lines[++next] ?? '')) {
    items.push(parseInline(item.at(-1) ?? ''));
  }
  if (items.length === 0) return undefined;
  const start = Number(number?.[1] ?? 1);
  return { block: { type: 'list', ordered: number !== null, start, items }, next };
};

const readParagraph = (lines: readonly string[], at: number): Read => {
  const begins = (line: string) =>
    line.trim() === '' || [FENCE, HEADING, BULLET, NUMBER].some((form) => form.test(line));
  let next = at;
  do next++;
  while (next < lines.length && !begins(lines[next] ?? ''));
  const own = lines.slice(at, next).filter((line) => line.trim() !== '');
  if (own.length === 0) return { next };
  return { block: { type: 'paragraph', lines: own.map(parseInline) }, next };
};

const INLINE =
  /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]])/g;

export const parseInline = (line: string): readonly Inline[] => {
  const parts: Inline[] = [];
  let end = 0;
  for (const match of line.matchAll(INLINE)) {
    if (match.index > end) parts.push({ type: 'text', text: line.slice(end, match.index) });
    parts.push(inlineOf(match));
    end = match.index + match[0].length;
  }
  if (end < line.length) parts.push({ type: 'text', text: line.slice(end) });
  return parts;
};

/** Only http and https become links, so that no other scheme can run code. */
const inlineOf = ([whole, code, strong, label, href]: RegExpMatchArray): Inline => {
  if (code !== undefined) return { type: 'code', text: code };
  if (strong !== undefined) return { type: 'strong', text: strong };
  if (label !== undefined && href !== undefined) return { type: 'link', text: label, href };
  return { type: 'link', text: whole, href: whole };
};
