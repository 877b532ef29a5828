/** Renders Markdown as elements. Text becomes text nodes only: output of a model is never HTML. */
import { useMemo, useState } from 'preact/hooks';
import { type Block, type Inline, parseMarkdown } from './markdown.ts';
import { strings } from '../strings.ts';

export const RichText = ({ text }: { text: string }) => {
  const blocks = useMemo(() => parseMarkdown(text), [text]);
  return (
    <div class="rich">
      {blocks.map((block, at) => (
        <BlockView key={at} block={block} />
      ))}
    </div>
  );
};

const BlockView = ({ block }: { block: Block }) => {
  switch (block.type) {
    case 'code':
      return <CodeBlock language={block.language} text={block.text} />;
    case 'list': {
      const items = block.items.map((item, at) => (
        <li key={at}>
          <InlineView parts={item} />
        </li>
      ));
      return block.ordered ? <ol start={block.start}>{items}</ol> : <ul>{items}</ul>;
    }
    case 'heading':
      return (
        <p class="heading">
          <Lines lines={block.lines} />
        </p>
      );
    case 'paragraph':
      return (
        <p>
          <Lines lines={block.lines} />
        </p>
      );
  }
};

const Lines = ({ lines }: { lines: readonly (readonly Inline[])[] }) => (
  <>
    {lines.map((line, at) => (
      <>
        {at > 0 && <br />}
        <InlineView parts={line} />
      </>
    ))}
  </>
);

const InlineView = ({ parts }: { parts: readonly Inline[] }) => (
  <>
    {parts.map((part) => {
      switch (part.type) {
        case 'code':
          return <code>{part.text}</code>;
        case 'strong':
          return <strong>{part.text}</strong>;
        case 'link':
          return (
            <a href={part.href} target="_blank" rel="noopener noreferrer">
              {part.text}
            </a>
          );
        case 'text':
          return part.text;
      }
    })}
  </>
);

const COPIED_MS = 1500;

const CodeBlock = ({ language, text }: { language: string; text: string }) => {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <figure class="code">
      <figcaption>
        <span>{language}</span>
        {globalThis.isSecureContext && (
          <button type="button" class="quiet" onClick={() => void copy()}>
            {copied ? strings.copied : strings.copy}
          </button>
        )}
      </figcaption>
      {/* A long line scrolls, so the box can be reached by keyboard. */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </figure>
  );
};
