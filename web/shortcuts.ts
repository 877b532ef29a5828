/**
 * Keyboard shortcuts and their list. Letters are matched by their position on the keyboard, because
 * Alt changes the characters.
 */
import { useEffect, useRef } from 'preact/hooks';

export type Action =
  | 'help'
  | 'stop'
  | 'search'
  | 'newSession'
  | 'previous'
  | 'next'
  | 'approval'
  | 'devices'
  | 'write';

const WITH_ALT: Readonly<Record<string, Action>> = {
  KeyN: 'newSession',
  ArrowUp: 'previous',
  ArrowDown: 'next',
  KeyA: 'approval',
  KeyD: 'devices',
};

/** The action of a key; characters have none while a text field has the focus. */
const actionOf = (event: KeyboardEvent): Action | undefined => {
  const { key, code, altKey, ctrlKey, metaKey, isComposing } = event;
  if (isComposing) return undefined;
  if ((ctrlKey || metaKey) && code === 'KeyK') return 'search';
  if (altKey && !ctrlKey && !metaKey) return WITH_ALT[code];
  if (ctrlKey || metaKey) return undefined;
  if (key === 'Escape') return 'stop';
  if (isWriting(event.target)) return undefined;
  return key === '?' ? 'help' : key === '/' ? 'write' : undefined;
};

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

/** Each returns whether it did something; if so, the browser's default action is prevented. */
export const useShortcuts = (doing: Readonly<Record<Action, () => boolean>>): void => {
  const latest = useRef(doing);
  latest.current = doing;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const action = actionOf(event);
      // An open panel handles keys itself.
      if (action === undefined || document.querySelector('dialog[open]')) return;
      if (latest.current[action]()) event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
};
