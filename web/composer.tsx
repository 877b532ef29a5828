/**
 * Where one writes: Enter sends, Shift+Enter makes a new line; images are pasted or picked; an
 * answer that runs can be stopped.
 */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { SentImage } from './conversation.ts';
import { IMAGE_TYPES, imagesOf } from './images.ts';
import { strings } from './strings.ts';

export const Composer = (props: {
  busy: boolean;
  online: boolean;
  onSend: (text: string, images: readonly SentImage[]) => void;
  onStop: () => void;
}) => {
  const { busy, online, onSend, onStop } = props;
  const [text, setText] = useState('');
  const [images, setImages] = useState<readonly SentImage[]>([]);
  const add = (files: Iterable<File>) =>
    void imagesOf(files).then((more) => setImages((now) => [...now, ...more]));
  const field = useRef<HTMLTextAreaElement>(null);
  useGrow(field, text);
  const send = (event?: Event) => {
    event?.preventDefault();
    if (text.trim() === '') return;
    onSend(text.trim(), images);
    setText('');
    setImages([]);
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // An input method's own Enter (Vietnamese, Japanese, …) chooses a word.
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) send(event);
  };
  return (
    <form class="composer" onSubmit={send}>
      <Images images={images} onChange={setImages} />
      <div class="field">
        <ImagePicker onFiles={add} />
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
          onPaste={({ clipboardData }) => add(clipboardData?.files ?? [])}
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

/** What goes with the message, each to be left out again. */
const Images = (props: {
  images: readonly SentImage[];
  onChange: (images: readonly SentImage[]) => void;
}) => {
  const { images, onChange } = props;
  if (images.length === 0) return null;
  return (
    <ul class="images">
      {images.map((image, at) => (
        <li key={at}>
          <img src={`data:${image.mimeType};base64,${image.content}`} alt={image.fileName} />
          <button
            type="button"
            aria-label={strings.removeImage(image.fileName)}
            onClick={() => onChange(images.filter((each) => each !== image))}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
};

const ImagePicker = ({ onFiles }: { onFiles: (files: Iterable<File>) => void }) => (
  <label class="add-images" title={strings.addImages}>
    <span aria-hidden="true">+</span>
    <input
      type="file"
      multiple
      accept={IMAGE_TYPES}
      aria-label={strings.addImages}
      onChange={({ currentTarget }) => {
        onFiles([...(currentTarget.files ?? [])]);
        currentTarget.value = '';
      }}
    />
  </label>
);

/** The field is as high as its text; the style sheet bounds it. */
const useGrow = (field: { current: HTMLTextAreaElement | null }, text: string) => {
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = 'auto';
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);
};
