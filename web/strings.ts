/**
 * All texts of the page, in its languages. The browser's language selects one; the default is
 * English. Only the selected one is loaded.
 */
import type { Strings } from './strings/english.ts';

export const language: 'en' | 'vi' = globalThis.navigator?.language?.startsWith('vi') ? 'vi' : 'en';

const selected =
  language === 'vi' ? import('./strings/vietnamese.ts') : import('./strings/english.ts');

export const strings: Strings = (await selected).strings;
