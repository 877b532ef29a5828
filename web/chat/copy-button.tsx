/** Copies a text. Browsers allow it on https:// and localhost only. */
import { useState } from 'preact/hooks';
import { Icon } from '../icons.tsx';
import { strings } from '../strings.ts';

const COPIED_MS = 1500;

export const CopyButton = ({ text }: { text: string }) => {
  const [copied, setCopied] = useState(false);
  if (!globalThis.isSecureContext) return null;
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  const name = copied ? strings.copied : strings.copy;
  return (
    <button
      type="button"
      class="quiet copy"
      aria-label={name}
      title={name}
      onClick={() => void copy()}
    >
      <Icon name={copied ? 'check' : 'copy'} />
    </button>
  );
};
