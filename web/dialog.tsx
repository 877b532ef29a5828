/** A panel over the page. It receives and traps the focus, and restores it; Esc and ✕ close it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icons.tsx';
import { strings } from './strings.ts';

export const Dialog = (props: {
  title: string;
  children: ComponentChildren;
  onClose: () => void;
}) => {
  const { title, children, onClose } = props;
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = box.current;
    element?.showModal();
    element?.addEventListener('close', onClose);
    return () => element?.removeEventListener('close', onClose);
  }, []);
  const onClick = (event: MouseEvent) => {
    // A click outside of the panel has the dialog itself as its target.
    if (event.target === box.current) box.current?.close();
  };
  return (
    <dialog ref={box} aria-label={title} onClick={onClick}>
      <div class="panel">
        <div class="panel-head">
          <h2>{title}</h2>
          <button
            type="button"
            class="icon"
            aria-label={strings.close}
            onClick={() => box.current?.close()}
          >
            <Icon name="close" />
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
};
