/** Switches between conversations: by the list, the keyboard and the address. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { linkTo } from './chat/agents-talk.ts';
import { itemsOf, neighbourOf } from './sessions.ts';
import { strings } from './strings.ts';
import type { View, Workspace } from './workspace.ts';

/**
 * From this width on the list is beside the conversation; on narrower pages it covers it while
 * open.
 */
const WIDE = matchMedia('(min-width: 56rem)');

export const useMoves = (view: View, workspace: Workspace, go: (link: string) => void) => {
  const { sessions, sessionKey, mainSessionKey } = view;
  const [menuOpen, setMenuOpen] = useState(WIDE.matches);
  useEffect(() => {
    const fit = () => setMenuOpen(WIDE.matches);
    WIDE.addEventListener('change', fit);
    return () => WIDE.removeEventListener('change', fit);
  }, []);
  const asking = useMemo(
    () => new Set(view.asking.flatMap(({ request }) => request.sessionKey ?? [])),
    [view.asking],
  );
  const items = itemsOf(sessions, sessionKey, asking);
  const title = items.find(({ key }) => key === sessionKey)?.title;
  const unread = items.filter(({ mark }) => mark === 'asks' || mark === 'unread').length;
  useTitle(sessionKey === mainSessionKey ? undefined : title, unread);
  /** On a narrow page the menu covers what was chosen in it. */
  const leave = () => {
    if (!WIDE.matches) setMenuOpen(false);
  };
  const open = (key: string, messageId?: string) => {
    // The main conversation has no name in the address.
    go(key === mainSessionKey ? '' : linkTo(key));
    workspace.open(key);
    leave();
    focusOn('#message');
    if (messageId !== undefined)
      void import('./chat/jump.ts').then(({ jumpTo }) =>
        jumpTo(messageId, () => workspace.chat?.readEarlier()),
      );
  };
  const remove = async (key: string) => {
    if (!(await workspace.delete(key))) return;
    if (key === sessionKey && mainSessionKey !== undefined) open(mainSessionKey);
  };
  return {
    menuOpen,
    setMenuOpen,
    items,
    title,
    leave,
    open,
    begin: (agentId: string) => open(workspace.newSession(agentId)),
    step: (by: 1 | -1) => {
      const key = neighbourOf(items, sessionKey, by);
      if (key !== undefined) open(key);
    },
    search: (text: string) => workspace.search(text),
    rename: (key: string, label: string) => void workspace.rename(key, label),
    remove: (key: string) => void remove(key),
  };
};

/** The open conversation, and how many others wait for the user. */
const useTitle = (title: string | undefined, unread: number): void => {
  useEffect(() => {
    const count = unread > 0 ? `(${unread}) ` : '';
    document.title = `${count}${title === undefined ? '' : `${title} · `}${strings.title}`;
  }, [title, unread]);
};

/** Focuses now and again after rendering. Returns true, so that the key has no other effect. */
export const focusOn = (selector: string): true => {
  const focus = () => document.querySelector<HTMLElement>(selector)?.focus();
  focus();
  requestAnimationFrame(focus);
  return true;
};
