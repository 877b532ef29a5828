/** Outgoing text: hooks change a text before users see it, and are notified when it was sent. */
import type { AccountRef } from '../../../protocols/channel.ts';
import type { HookAbout, Hooks } from '../../../agent/hooks/hooks.ts';

/**
 * The text as the hooks leave it; '' when one cancels it. A chat reports later what was sent.
 * @param chat the account of the messenger that the text goes to
 * @throws TroupeError FORBIDDEN when a hook failed that must see it
 */
export async function outgoing(
  text: string,
  hooks: Hooks,
  about: HookAbout,
  chat?: AccountRef,
): Promise<string> {
  const left = await checked({ text, ...chat }, hooks, about);
  if (left !== '' && chat === undefined && hooks.has('message_sent'))
    await hooks.run('message_sent', { text: left }, about);
  return left;
}

async function checked(
  event: { text: string } & Partial<AccountRef>,
  hooks: Hooks,
  about: HookAbout,
): Promise<string> {
  const { text } = event;
  if (text === '' || !hooks.has('message_sending')) return text;
  const changed = await hooks.run('message_sending', event, about);
  return changed?.cancel ? '' : (changed?.text ?? text);
}
