/** Text in HTML. Labels, URLs and names of processes come from outside. */
import { plainText } from '../../protocols/plain-text.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * For content and quoted attributes. Control characters, and marks of text direction, are removed.
 */
export const escaped = (text: string): string =>
  plainText(text).replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
