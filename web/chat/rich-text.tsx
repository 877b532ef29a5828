/**
 * Formatted text. The code for Markdown is loaded with the first text that needs it; until then,
 * and if it cannot be loaded, the text is shown as it is.
 */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

type Markdown = ComponentType<{ text: string }>;

let loaded: Markdown | undefined;
let loading: Promise<Markdown> | undefined;

export const RichText = ({ text }: { text: string }) => {
  const [View, setView] = useState<Markdown | undefined>(() => loaded);
  useEffect(() => {
    if (loaded !== undefined) return;
    loading ??= import('./markdown/markdown.tsx').then(({ Markdown: View_ }) => View_);
    loading.then(
      (view) => {
        loaded = view;
        setView(() => view);
      },
      () => {
        loading = undefined;
      },
    );
  }, []);
  return (
    <div class="rich">
      {View === undefined ? <p class="plain">{text}</p> : <View text={text} />}
    </div>
  );
};
