/**
 * Shows a message that a search found: older messages are read until it is there. Loaded with the
 * first jump.
 */
/** Limit of the whole jump. Each part of the page that changes meanwhile is looked at. */
const JUMP_MS = 20_000;
const CHANGE_MS = 10_000;
/** What was drawn with it may still change its place. */
const FRAMES = 3;

/** @param readEarlier requests older messages, if there are any */
export async function jumpTo(messageId: string, readEarlier: () => void): Promise<void> {
  const until = performance.now() + JUMP_MS;
  while (performance.now() < until) {
    const found = document.querySelector(`.log [data-id="${CSS.escape(messageId)}"]`);
    if (found) return show(found);
    // A conversation that was opened just now has no messages yet.
    if (document.querySelector('.log [data-id]')) readEarlier();
    if (!(await changes())) return;
  }
}

/** False if the log does not change in time: the message is too old, or was removed. */
const changes = (): Promise<boolean> =>
  new Promise((resolve) => {
    const end = (hasChanged: boolean) => {
      clearTimeout(timer);
      observer.disconnect();
      resolve(hasChanged);
    };
    const observer = new MutationObserver(() => end(true));
    const timer = setTimeout(() => end(false), CHANGE_MS);
    observer.observe(document.body, { childList: true, subtree: true });
  });

async function show(message: Element): Promise<void> {
  document.querySelector('.log .found')?.classList.remove('found');
  message.classList.add('found');
  for (let frame = 0; frame < FRAMES; frame++) {
    message.scrollIntoView({ block: 'center', behavior: 'instant' });
    await new Promise(requestAnimationFrame);
  }
}
