/** Text of a model, formatted by code that is loaded with the first text that needs it. */
import { lazy } from '../shell/lazy.tsx';

type Props = { readonly text: string };

const Markdown = lazy<Props>(
  async () => (await import('./markdown/markdown.tsx')).Markdown,
  ({ text }) => <p class="plain">{text}</p>,
);

export const RichText = ({ text }: Props) => (
  <div class="rich">
    <Markdown text={text} />
  </div>
);
