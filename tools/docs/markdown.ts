/** Headings of Markdown and their anchors, as GitHub makes them. */
import { type Token, type Tokens, lexer } from 'marked';

export type Heading = { readonly id: string; readonly text: string; readonly depth: number };

/** The anchor of a heading's text: letters, digits, `-` and `_`. */
export const slugOf = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');

/** Without Markdown: the text of links, emphasis and code. */
export const plainText = (tokens: readonly Token[]): string =>
  tokens
    .map((token) =>
      'tokens' in token && token.tokens
        ? plainText(token.tokens)
        : 'text' in token
          ? String(token.text)
          : '',
    )
    .join('');

/** Ids of repeated headings get a number. */
export function anchorMaker(): (text: string) => string {
  const counts = new Map<string, number>();
  return (text) => {
    const slug = slugOf(text);
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  };
}

/** Anchors of `<a id="...">`. */
export const explicitAnchors = (markdown: string): string[] =>
  [...markdown.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!);

export function headingsOf(markdown: string): Heading[] {
  const idOf = anchorMaker();
  return lexer(markdown)
    .filter((token): token is Tokens.Heading => token.type === 'heading')
    .map(({ tokens, depth }) => {
      const text = plainText(tokens);
      return { id: idOf(text), text, depth };
    });
}
