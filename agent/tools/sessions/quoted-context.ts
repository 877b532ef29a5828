/**
 * Quoted context: text that an agent passes on with a message or a task. It is marked as quoted
 * material, so that the receiver does not treat it as instructions.
 */
import { type Static, Type } from '@sinclair/typebox';
import { CONTEXT_CHARACTERS_MAX, MESSAGE_CHARACTERS_MAX } from '../../../protocols/conversation.ts';
import { withQuote } from '../../context/envelope.ts';

/** Characters of the surrounding marks. */
const FRAME_CHARACTERS_MAX = 500;
/** Maximum length of a text that leaves room for its context. */
export const TEXT_CHARACTERS_MAX =
  MESSAGE_CHARACTERS_MAX - CONTEXT_CHARACTERS_MAX - FRAME_CHARACTERS_MAX;

export const QuotedContext = Type.Union(
  [Type.String(), Type.Array(Type.Object({ agent: Type.String(), message: Type.String() }))],
  {
    description:
      'context for the other agent: a text, or messages [{agent, message}] in order; it is quoted, ' +
      `and only the last ${CONTEXT_CHARACTERS_MAX} characters are kept`,
  },
);

/** The text, followed by the quoted context. At most MESSAGE_CHARACTERS_MAX. */
export function withContext(text: string, context: Static<typeof QuotedContext> = ''): string {
  return withQuote(text, typeof context === 'string' ? lastOf(context) : lastMessages(context));
}

const CUT = '[…]';

const lastOf = (text: string): string => {
  if (text.length <= CONTEXT_CHARACTERS_MAX) return text;
  return CUT + text.slice(CUT.length - CONTEXT_CHARACTERS_MAX).replace(/^[\uDC00-\uDFFF]/, '');
};

/** The newest messages that fit; at least the end of the last one. */
function lastMessages(messages: readonly { agent: string; message: string }[]): string {
  const lines = messages.map(({ agent, message }) => `${agent}: ${message}`);
  let first = lines.length;
  let room = CONTEXT_CHARACTERS_MAX - CUT.length - 1;
  while (first > 0 && lines[first - 1]!.length < room) room -= lines[--first]!.length + 1;
  if (first === 0) return lines.join('\n');
  return first === lines.length ? lastOf(lines.at(-1)!) : [CUT, ...lines.slice(first)].join('\n');
}
