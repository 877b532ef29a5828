/**
 * Silent text: an answer that says that there is none, or, of a run that another agent began,
 * that it wants no more or tells people nothing, as it comes in piece by piece. Pure.
 */
import { ANNOUNCE_SKIP, REPLY_SKIP } from '../../../protocols/conversation.ts';
import type { MessageOrigin } from '../../../protocols/session.ts';

const SILENT = ['NO_REPLY'];
const SILENT_TO_AGENTS = [...SILENT, REPLY_SKIP, ANNOUNCE_SKIP];
/** What usually stands around it. */
const DECORATION = /^[\s*_`"'(]+|[\s*_`"'.:,)-]+$/g;

const coreOf = (text: string): string => text.replaceAll(DECORATION, '');

/** Words that a run which so began does not say to people; of a person's run: NO_REPLY only. */
const silentRepliesOf = (origin: MessageOrigin | undefined): readonly string[] =>
  origin?.kind === 'agent' || origin?.kind === 'announce' ? SILENT_TO_AGENTS : SILENT;

export const isSilent = (text: string, origin?: MessageOrigin): boolean =>
  silentRepliesOf(origin).includes(coreOf(text));

/** So far it may become one: watchers are not told before it is known. */
export const mayBeSilent = (text: string, origin?: MessageOrigin): boolean =>
  text !== '' && silentRepliesOf(origin).some((word) => word.startsWith(coreOf(text)));
