/** The texts of the views of operations; only those of the selected language are loaded. */
import { language } from '../strings.ts';
import type { Strings } from './strings/english.ts';

const selected =
  language === 'vi' ? import('./strings/vietnamese.ts') : import('./strings/english.ts');

export const strings: Strings = (await selected).strings;
