/**
 * The message field: Enter sends, Shift+Enter inserts a new line. Images can be pasted, dropped or
 * picked, and a running answer can be stopped. An unsent draft stays with its conversation.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Command, CommandList, type Slash, unknownCommandIn, useSlash } from './commands.tsx';
import type { SentImage } from './conversation.ts';
import { type Draft, draftOf, keepDraft } from './drafts.ts';
import { IMAGE_TYPES, imageLimits } from './image-limits.ts';
import { Icon } from '../icons.tsx';
import { lazy } from '../shell/lazy.tsx';
import { strings } from '../strings.ts';

const AttachedImages = lazy(async () => (await import('./attached-images.tsx')).AttachedImages);

type ComposerProps = {
  sessionKey: string;
  busy: boolean;
  online: boolean;
  /** a text that the user wants to edit; a new object replaces the draft */
  insert: { readonly text: string } | undefined;
  commands: readonly Command[];
  onSend: (text: string, images: readonly SentImage[]) => void;
  onStop: () => void;
};

export const Composer = (props: ComposerProps) => {
  const { busy, online, insert, commands, onSend, onStop } = props;
  const { draft, change, refused, refuse, add, clear } = useDraft(props.sessionKey);
  const { text, images } = draft;
  const field = useRef<HTMLTextAreaElement>(null);
  useGrow(field, text);
  const dropping = useDrop(add);
  const slash = useSlash(text, commands, (line) => change({ text: line }));
  useEffect(() => {
    if (insert === undefined) return;
    change({ text: insert.text });
    field.current?.focus();
  }, [insert]);
  const isEmpty = !(text.trim() || images.length);
  const send = (event?: Event) => {
    event?.preventDefault();
    if (isEmpty) return;
    const unknown = unknownCommandIn(text, commands);
    if (unknown !== undefined) return refuse(strings.unknownCommand(unknown));
    onSend(text.trim(), images);
    clear();
    field.current?.focus();
  };
  return (
    <form class="composer" onSubmit={send}>
      {images.length > 0 && (
        <AttachedImages images={images} onChange={(left) => change({ images: left })} />
      )}
      <Refusals refused={refused} />
      <CommandList slash={slash} />
      {dropping && <p class="drop">{strings.dropHere}</p>}
      <div class="field">
        <ImagePicker onFiles={add} />
        <Field
          field={field}
          text={text}
          slash={slash}
          onText={(typed) => change({ text: typed })}
          onSend={send}
          onFiles={add}
        />
        {busy && <StopButton online={online} onStop={onStop} />}
        <button
          type="submit"
          class="send"
          aria-label={strings.send}
          title={strings.send}
          disabled={isEmpty}
        >
          <Icon name="send" />
        </button>
      </div>
      <p id="hint">{strings.hint}</p>
    </form>
  );
};

const Field = (props: {
  field: { current: HTMLTextAreaElement | null };
  text: string;
  slash: Slash;
  onText: (text: string) => void;
  onSend: (event: Event) => void;
  onFiles: (files: Iterable<File>) => void;
}) => {
  const { field, text, slash, onText, onSend, onFiles } = props;
  const isChoosing = slash.found.length > 0;
  const onKeyDown = (event: KeyboardEvent) => {
    if (slash.onKeyDown(event)) return;
    // In an input method (Vietnamese, Japanese, …) Enter chooses a word.
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) onSend(event);
  };
  return (
    <textarea
      ref={field}
      id="message"
      rows={1}
      value={text}
      placeholder={strings.placeholder}
      aria-label={strings.placeholder}
      aria-describedby="hint"
      aria-controls={isChoosing ? 'commands' : undefined}
      aria-activedescendant={isChoosing ? `command-${slash.at}` : undefined}
      autoFocus
      onInput={(event) => onText(event.currentTarget.value)}
      onKeyDown={onKeyDown}
      onPaste={({ clipboardData }) => onFiles(clipboardData?.files ?? [])}
    />
  );
};

const StopButton = ({ online, onStop }: { online: boolean; onStop: () => void }) => (
  <button
    type="button"
    class="stop"
    aria-keyshortcuts="Escape"
    aria-label={strings.stop}
    title={strings.stop}
    onClick={onStop}
    disabled={!online}
  >
    <Icon name="stop" />
  </button>
);

/** The draft, stored at every change, and the reason why files were refused. */
const useDraft = (sessionKey: string) => {
  const [draft, setDraft] = useState<Draft>(() => draftOf(sessionKey));
  const [refused, setRefused] = useState<readonly string[]>([]);
  const latest = useRef(draft);
  const change = (part: Partial<Draft>) => {
    latest.current = { ...latest.current, ...part };
    keepDraft(sessionKey, latest.current);
    setDraft(latest.current);
  };
  const add = async (files: Iterable<File>) => {
    // A clipboard is empty after its event.
    const given = [...files];
    const { addFiles } = await import('./images.ts');
    setRefused(await addFiles(given, () => latest.current.images, change));
  };
  const clear = () => {
    change({ text: '', images: [] });
    setRefused([]);
  };
  return {
    draft,
    change,
    refused,
    refuse: (why: string) => setRefused([why]),
    add: (files: Iterable<File>) => void add(files).catch(() => setRefused([strings.notLoaded])),
    clear,
  };
};

const Refusals = ({ refused }: { refused: readonly string[] }) =>
  refused.length === 0 ? null : (
    <ul class="refused failed" role="alert">
      {refused.map((why) => (
        <li key={why}>{why}</li>
      ))}
    </ul>
  );

const ImagePicker = ({ onFiles }: { onFiles: (files: Iterable<File>) => void }) => (
  <label class="pick-file" title={`${strings.addImages}. ${imageLimits()}`}>
    <Icon name="image" />
    <input
      type="file"
      multiple
      accept={IMAGE_TYPES.join()}
      aria-label={strings.addImages}
      onChange={({ currentTarget }) => {
        onFiles([...(currentTarget.files ?? [])]);
        currentTarget.value = '';
      }}
    />
  </label>
);

/** Files may be dropped anywhere on the page. True while they are dragged over it. */
const useDrop = (onFiles: (files: Iterable<File>) => void): boolean => {
  const [over, setOver] = useState(false);
  const latest = useRef(onFiles);
  latest.current = onFiles;
  useEffect(() => {
    const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files');
    const onOver = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const onLeave = ({ relatedTarget }: DragEvent) => relatedTarget === null && setOver(false);
    const onDrop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      latest.current([...(event.dataTransfer?.files ?? [])]);
    };
    const listeners = { dragover: onOver, dragleave: onLeave, drop: onDrop } as const;
    for (const [name, call] of Object.entries(listeners))
      addEventListener(name, call as EventListener);
    return () => {
      for (const [name, call] of Object.entries(listeners))
        removeEventListener(name, call as EventListener);
    };
  }, []);
  return over;
};

/** The field grows with its text; the style sheet limits its height. */
const useGrow = (field: { current: HTMLTextAreaElement | null }, text: string) => {
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = 'auto';
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);
};
