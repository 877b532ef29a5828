/**
 * Unsent messages of conversations. The text survives a reload of the page; images survive only a
 * change of the conversation.
 */
import type { SentImage } from './conversation.ts';
import { kept } from '../kept.ts';

export type Draft = { readonly text: string; readonly images: readonly SentImage[] };

const NAME = 'troupe.draft.';
const imagesOf = new Map<string, readonly SentImage[]>();

export const draftOf = (sessionKey: string): Draft => ({
  text: kept.getItem(NAME + sessionKey) ?? '',
  images: imagesOf.get(sessionKey) ?? [],
});

export const keepDraft = (sessionKey: string, { text, images }: Draft): void => {
  if (images.length === 0) imagesOf.delete(sessionKey);
  else imagesOf.set(sessionKey, images);
  if (text === '') kept.removeItem(NAME + sessionKey);
  else {
    try {
      kept.setItem(NAME + sessionKey, text);
    } catch {
      // The browser's storage is full or denied: the text is still on the page.
    }
  }
};
