/**
 * Drafts: what was written in a conversation and not sent. Its text outlives the page; its images
 * only other conversations.
 */
import type { SentImage } from './conversation.ts';
import { kept } from './kept.ts';

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
      // The browser keeps no more: the text is still on the page.
    }
  }
};
