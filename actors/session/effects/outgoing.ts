/** Outgoing text: hooks change a text before users see it, and are notified when it was sent. */
import type { HookAbout, Hooks } from '../../../agent/hooks/hooks.ts';

/**
 * The text as the hooks leave it; '' when one cancels it.
 * @throws TroupeError FORBIDDEN when a hook failed that must see it
 */
export async function outgoing(text: string, hooks: Hooks, about: HookAbout): Promise<string> {
  const left = await checked(text, hooks, about);
  if (left !== '' && hooks.has('message_sent'))
    await hooks.run('message_sent', { text: left }, about);
  return left;
}

async function checked(text: string, hooks: Hooks, about: HookAbout): Promise<string> {
  if (text === '' || !hooks.has('message_sending')) return text;
  const changed = await hooks.run('message_sending', { text }, about);
  return changed?.cancel ? '' : (changed?.text ?? text);
}
