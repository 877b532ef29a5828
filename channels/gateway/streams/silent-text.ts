/**
 * Detects silent replies while they are streamed: `NO_REPLY`, and in runs that another agent
 * started also the words that end a conversation or skip its announcement. Pure.
 */
import { ANNOUNCE_SKIP, REPLY_SKIP } from '../../../protocols/conversation.ts';
import type { MessageOrigin } from '../../../protocols/session.ts';

const SILENT = ['NO_REPLY'];
const SILENT_TO_AGENTS = [...SILENT, REPLY_SKIP, ANNOUNCE_SKIP];
/** Punctuation and markup that may surround the word. */
const DECORATION = /^[\s*_`"'(]+|[\s*_`"'.:,)-]+$/g;

const coreOf = (text: string): string => text.replaceAll(DECORATION, '');

/** Words that are silent in a run of this origin; for a user's run only NO_REPLY. */
const silentRepliesOf = (origin: MessageOrigin | undefined): readonly string[] =>
  origin?.kind === 'agent' || origin?.kind === 'announce' ? SILENT_TO_AGENTS : SILENT;

export const isSilent = (text: string, origin?: MessageOrigin): boolean =>
  silentRepliesOf(origin).includes(coreOf(text));

/** Whether the text so far may become silent; such text is withheld. */
export const mayBeSilent = (text: string, origin?: MessageOrigin): boolean =>
  text !== '' && silentRepliesOf(origin).some((word) => word.startsWith(coreOf(text)));
