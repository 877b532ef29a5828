/** A block of code with its language, a button that copies it, and colours. */
import { useEffect, useState } from 'preact/hooks';
import { CopyButton } from '../copy-button.tsx';
import type { Part } from './highlight.ts';

/** A longer text is shown without colours. */
const COLOURED_CHARACTERS_MAX = 20_000;

export const CodeBlock = ({ language, text }: { language: string; text: string }) => {
  const parts = useColours(language, text);
  return (
    <figure class="code">
      <figcaption>
        <span>{language}</span>
        <CopyButton text={text} />
      </figcaption>
      {/* A long line scrolls, so the box can be reached by keyboard. */}
      <pre tabIndex={0}>
        <code>{parts === undefined ? text : <Parts parts={parts} />}</code>
      </pre>
    </figure>
  );
};

const Parts = ({ parts }: { parts: readonly Part[] }) => (
  <>
    {parts.map((part, at) =>
      typeof part === 'string' ? (
        part
      ) : (
        <span key={at} class={part.kind}>
          <Parts parts={part.parts} />
        </span>
      ),
    )}
  </>
);

/** Undefined until the colours are loaded, and for a language that has none. */
const useColours = (language: string, text: string): readonly Part[] | undefined => {
  const [colour, setColour] = useState<typeof import('./highlight.ts').coloured>();
  const wants = language !== '' && text.length <= COLOURED_CHARACTERS_MAX;
  useEffect(() => {
    if (!wants || colour !== undefined) return;
    // Without it the code stays as it is.
    import('./highlight.ts').then(({ coloured }) => setColour(() => coloured)).catch(() => {});
  }, [wants]);
  return wants ? colour?.(language, text) : undefined;
};
