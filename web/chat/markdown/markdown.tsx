/**
 * Renders GitHub-flavoured Markdown as elements. `marked` reads it; this file decides what becomes
 * an element.
 *
 * Invariants:
 *  1. Text becomes text nodes only: output of a model is never HTML. Raw HTML is shown as text.
 *  2. Only http, https and mailto become links, so that no other scheme can run code.
 *  3. Nothing is loaded from another server: an image is a link.
 */
import { lexer, type Token, type Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { CodeBlock } from './code-block.tsx';

const NESTING_MAX = 60;
/** A line break in a paragraph stays one, as people write in a chat. */
const OPTIONS = { gfm: true, breaks: true };

export const Markdown = ({ text }: { text: string }) => {
  const tokens = useMemo(() => tokensOf(text), [text]);
  return tokens === undefined ? <p class="plain">{text}</p> : <>{tokens.map(shown)}</>;
};

/** Undefined for a text that is nested too deeply to be shown formatted. */
const tokensOf = (text: string): readonly Token[] | undefined => {
  try {
    const tokens = lexer(text, OPTIONS);
    return isDeeper(tokens, NESTING_MAX) ? undefined : tokens;
  } catch (error) {
    // marked recurses for each level of a quote or list.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};

const isDeeper = (tokens: readonly Token[], levels: number): boolean =>
  tokens.some((token) => {
    const { tokens: inside = [], items = [] } = token as Partial<Tokens.Generic>;
    const under: readonly Token[] = [...inside, ...(items as readonly Token[])];
    return under.length > 0 && (levels === 0 || isDeeper(under, levels - 1));
  });

const all = (tokens: readonly Token[] | undefined): ComponentChildren => tokens?.map(shown);

const HEADINGS = ['h2', 'h3', 'h4', 'h5'] as const;

const shown = (token: Token, key: number): ComponentChildren => {
  const show = SHOW[token.type];
  return show === undefined ? inner(token, key) : show(token as never, key);
};

/** Text, and what has no element of its own. */
const inner = (token: Token, key: number): ComponentChildren => {
  if ('tokens' in token && token.tokens !== undefined)
    return <span key={key}>{all(token.tokens)}</span>;
  return 'text' in token && typeof token.text === 'string' ? token.text : token.raw;
};

type Show<T> = (token: T, key: number) => ComponentChildren;

const link: Show<Tokens.Link> = ({ href, text, tokens, raw }, key) =>
  /^(https?:\/\/|mailto:)/i.test(href) ? (
    <a key={key} href={href} target="_blank" rel="noopener noreferrer">
      {tokens === undefined || tokens.length === 0 ? text || href : all(tokens)}
    </a>
  ) : (
    raw
  );

const list: Show<Tokens.List> = ({ ordered, start, items }, key) => {
  const rows = items.map((item, at) => (
    <li key={at} class={item.task ? 'task-item' : undefined}>
      {item.task && (
        <input type="checkbox" checked={item.checked ?? false} disabled aria-label={item.text} />
      )}
      {all(item.tokens.filter(({ type }) => type !== 'checkbox'))}
    </li>
  ));
  return ordered ? (
    <ol key={key} start={Number(start)}>
      {rows}
    </ol>
  ) : (
    <ul key={key}>{rows}</ul>
  );
};

/** A wide table scrolls, so the box can be reached by keyboard. */
const table: Show<Tokens.Table> = ({ header, rows, align }, key) => (
  <div key={key} class="table-box" tabIndex={0}>
    <table>
      <thead>
        <tr>
          {header.map(({ tokens }, at) => (
            <th key={at} scope="col" class={align[at] ?? undefined}>
              {all(tokens)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, row) => (
          <tr key={row}>
            {cells.map(({ tokens }, at) => (
              <td key={at} class={align[at] ?? undefined}>
                {all(tokens)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const SHOW: Readonly<Record<string, Show<never> | undefined>> = {
  space: () => null,
  code: (({ lang = '', text }, key) => (
    <CodeBlock key={key} language={/^[\w+#.-]*/.exec(lang)?.[0] ?? ''} text={text} />
  )) satisfies Show<Tokens.Code>,
  heading: (({ depth, tokens }, key) => {
    const Heading = HEADINGS[Math.min(depth, HEADINGS.length) - 1] ?? 'h5';
    return <Heading key={key}>{all(tokens)}</Heading>;
  }) satisfies Show<Tokens.Heading>,
  paragraph: (({ tokens }, key) => <p key={key}>{all(tokens)}</p>) satisfies Show<Tokens.Paragraph>,
  blockquote: (({ tokens }, key) => (
    <blockquote key={key}>{all(tokens)}</blockquote>
  )) satisfies Show<Tokens.Blockquote>,
  hr: (_token, key) => <hr key={key} />,
  list,
  table,
  strong: (({ tokens }, key) => (
    <strong key={key}>{all(tokens)}</strong>
  )) satisfies Show<Tokens.Strong>,
  em: (({ tokens }, key) => <em key={key}>{all(tokens)}</em>) satisfies Show<Tokens.Em>,
  del: (({ tokens }, key) => <del key={key}>{all(tokens)}</del>) satisfies Show<Tokens.Del>,
  codespan: (({ text }, key) => <code key={key}>{text}</code>) satisfies Show<Tokens.Codespan>,
  br: (_token, key) => <br key={key} />,
  link,
  image: (({ href, text, raw }, key) =>
    link({ type: 'link', href, text, raw, tokens: [] }, key)) satisfies Show<Tokens.Image>,
  html: (({ raw }) => raw) satisfies Show<Tokens.HTML>,
};
