/** What a run says to people in the end (AL7). Pure. */
import type { ReplyFacts } from './types.ts';

export type ShapedReply = { readonly text: string; readonly silent: boolean };

export const shapeReply = ({ text }: ReplyFacts): ShapedReply => ({ text, silent: text === '' });
