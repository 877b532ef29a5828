/**
 * Quoted context: what an agent hands on with a message or a task, marked as material, so that the
 * other one does not take it for what it is asked to do.
 */
import { type Static, Type } from '@sinclair/typebox';
import { CONTEXT_CHARACTERS_MAX, MESSAGE_CHARACTERS_MAX } from '../../../protocols/conversation.ts';
import { withQuote } from '../../context/envelope.ts';

/** Of the words around it. */
const FRAME_CHARACTERS_MAX = 500;
/** Longest text that always has room for its context. */
export const TEXT_CHARACTERS_MAX =
  MESSAGE_CHARACTERS_MAX - CONTEXT_CHARACTERS_MAX - FRAME_CHARACTERS_MAX;

export const QuotedContext = Type.Union(
  [Type.String(), Type.Array(Type.Object({ agent: Type.String(), message: Type.String() }))],
  {
    description:
      'what the other one has to know: a text, or messages [{agent, message}] in order; it is quoted, ' +
      `of more than ${CONTEXT_CHARACTERS_MAX} characters the newest are kept`,
  },
);

/** The text, and under it the context, quoted. At most MESSAGE_CHARACTERS_MAX. */
export function withContext(text: string, context: Static<typeof QuotedContext> = ''): string {
  return withQuote(text, typeof context === 'string' ? lastOf(context) : lastMessages(context));
}

const CUT = '[…]';

const lastOf = (text: string): string => {
  if (text.length <= CONTEXT_CHARACTERS_MAX) return text;
  return CUT + text.slice(CUT.length - CONTEXT_CHARACTERS_MAX).replace(/^[\uDC00-\uDFFF]/, '');
};

/** As many of the last messages as there is room for; of the last one at least its end. */
function lastMessages(messages: readonly { agent: string; message: string }[]): string {
  const lines = messages.map(({ agent, message }) => `${agent}: ${message}`);
  let first = lines.length;
  let room = CONTEXT_CHARACTERS_MAX - CUT.length - 1;
  while (first > 0 && lines[first - 1]!.length < room) room -= lines[--first]!.length + 1;
  if (first === 0) return lines.join('\n');
  return first === lines.length ? lastOf(lines.at(-1)!) : [CUT, ...lines.slice(first)].join('\n');
}
