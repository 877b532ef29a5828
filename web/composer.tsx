/**
 * Where one writes: Enter sends, Shift+Enter makes a new line; an answer that runs can be stopped.
 */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { strings } from './strings.ts';

export const Composer = (props: {
  busy: boolean;
  online: boolean;
  onSend: (text: string) => void;
  onStop: () => void;
}) => {
  const { busy, online, onSend, onStop } = props;
  const [text, setText] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  useGrow(field, text);
  const send = (event?: Event) => {
    event?.preventDefault();
    if (text.trim() === '') return;
    onSend(text.trim());
    setText('');
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // An input method's own Enter (Vietnamese, Japanese, …) chooses a word.
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) send(event);
  };
  return (
    <form class="composer" onSubmit={send}>
      <div class="field">
        <textarea
          ref={field}
          id="message"
          rows={1}
          value={text}
          placeholder={strings.placeholder}
          aria-label={strings.placeholder}
          aria-describedby="hint"
          autoFocus
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        {busy && (
          <button type="button" class="stop" onClick={onStop} disabled={!online}>
            {strings.stop}
          </button>
        )}
        <button type="submit" class="send" disabled={text.trim() === ''}>
          {strings.send}
        </button>
      </div>
      <p id="hint">{strings.hint}</p>
    </form>
  );
};

/** The field is as high as its text; the style sheet bounds it. */
const useGrow = (field: { current: HTMLTextAreaElement | null }, text: string) => {
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = 'auto';
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);
};
