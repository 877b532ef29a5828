/** Older messages are read when the user scrolls to the first one; the view does not jump. */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Conversation } from './conversation.ts';

/** Within this distance the log counts as scrolled to its beginning. */
const AT_START_PX = 120;

/** Returns a function that reads them now. */
export const useEarlier = (
  box: { readonly current: HTMLElement | null },
  { history, hasMore }: Conversation,
  read: () => void,
): (() => void) => {
  /** the distance to the end when older messages were requested */
  const fromEnd = useRef<number>();
  const latest = useRef(read);
  latest.current = read;
  const earlier = () => {
    const element = box.current;
    if (element === null || fromEnd.current !== undefined) return;
    fromEnd.current = element.scrollHeight - element.scrollTop;
    latest.current();
  };
  useEffect(() => {
    const element = box.current;
    if (element === null || !hasMore) return undefined;
    const look = () => {
      if (element.scrollTop < AT_START_PX) earlier();
    };
    element.addEventListener('scroll', look, { passive: true });
    return () => element.removeEventListener('scroll', look);
  }, [hasMore]);
  const first = history[0]?.id;
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || fromEnd.current === undefined) return;
    element.scrollTop = element.scrollHeight - fromEnd.current;
    fromEnd.current = undefined;
  }, [first]);
  return earlier;
};
