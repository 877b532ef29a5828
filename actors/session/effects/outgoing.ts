/** Outgoing text: hooks change a text before users see it, and are notified when it was sent. */
import type { HookAbout, Hooks, SentContent } from '../../../agent/hooks/hooks.ts';

/**
 * The text as the hooks leave it; '' when one cancels it. Clients of the gateway read it where it
 * is stored, so it counts as sent; the chat of a messenger reports later what was sent.
 * @param message with where it goes
 * @throws TroupeError FORBIDDEN when a hook failed that must see it
 */
export async function outgoing(
  message: SentContent,
  hooks: Hooks,
  about: HookAbout,
): Promise<string> {
  const text = await checked(message, hooks, about);
  if (text !== '' && message.account === undefined && hooks.has('message_sent'))
    await hooks.run('message_sent', { ...message, text, outcome: 'sent' }, about);
  return text;
}

async function checked(message: SentContent, hooks: Hooks, about: HookAbout): Promise<string> {
  const { text } = message;
  if (text === '' || !hooks.has('message_sending')) return text;
  const changed = await hooks.run('message_sending', message, about);
  return changed?.cancel ? '' : (changed?.text ?? text);
}
